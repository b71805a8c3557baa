import type { ComponentProps } from 'react';
import { Card } from './card.tsx';
import { Page } from './page.tsx';
import { Pending } from './pending.tsx';

type PendingProps = ComponentProps<typeof Pending>;

/** Placeholder of a card whose data is being read. */
export const PendingCard = ({ title, ...rest }: PendingProps & { readonly title?: string }) => (
  <Card title={title}>
    <Pending {...rest} />
  </Card>
);

/** Placeholder of a page whose script is being loaded. */
export const LoadingPage = () => (
  <div className="stack" role="status" aria-label="Loading the page">
    <span className="skeleton" style={{ width: 220, height: 26 }} />
    <span className="skeleton" style={{ width: '60%' }} />
    <span className="skeleton" style={{ width: '80%' }} />
  </div>
);

/**
 * Placeholder of a page whose data is being read. A function, not a component, so that React keeps `Page` and its
 * focus when the data arrives.
 */
export const pendingPage = (
  title: string,
  crumbs: NonNullable<ComponentProps<typeof Page>['crumbs']>,
  pending: PendingProps,
) => (
  <Page title={title} crumbs={crumbs}>
    <PendingCard {...pending} />
  </Page>
);
