import type { ComponentProps } from 'react';
import { Card } from './card.tsx';
import { Page } from './page.tsx';
import { Pending } from './pending.tsx';

type PendingProps = ComponentProps<typeof Pending>;

/** A card in the place of one whose data is being read. */
export const PendingCard = ({ title, ...rest }: PendingProps & { readonly title?: string }) => (
  <Card {...(title === undefined ? {} : { title })}>
    <Pending {...rest} />
  </Card>
);

/** The page of a thing that is being read; a function, so that the page of the thing is the same element and keeps the focus. */
export const pendingPage = (
  title: string,
  crumbs: NonNullable<ComponentProps<typeof Page>['crumbs']>,
  pending: PendingProps,
) => (
  <Page title={title} crumbs={crumbs}>
    <PendingCard {...pending} />
  </Page>
);
