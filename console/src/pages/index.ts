import type { ComponentType } from 'react';
import { LoadingPage } from '../kit/pending-page.tsx';
import { loaded } from '../loaded.tsx';
import Overview from './overview/overview.tsx';

/** The audience of a page: any person of a tenant, its admins, platform admins, or a partner's people. */
export type PageFor = 'person' | 'admin' | 'platform' | 'partner';

export interface PageEntry {
  /** Below `/console`; `:name` is a parameter. */
  readonly path: string;
  readonly for: PageFor;
  readonly Content: ComponentType;
}

type Load = () => Promise<{ default: ComponentType }>;

const page = (path: string, isFor: PageFor, load: Load): PageEntry => ({
  path,
  for: isFor,
  Content: loaded(load, LoadingPage).Loaded,
});

/** One line for each path, sorted. `navigation.ts` lists the pages of the sidebar. */
export const PAGES: readonly PageEntry[] = [
  page('/api-tokens', 'admin', () => import('./administration/api-tokens.tsx')),
  page('/assistant', 'person', () => import('./assistant/assistant.tsx')),
  page('/billing', 'partner', () => import('./billing/statements.tsx')),
  page('/billing/customers/:id', 'partner', () => import('./billing/statement.tsx')),
  page('/billing/customers/:id/:meter', 'partner', () => import('./billing/usage.tsx')),
  page('/billing/invoices', 'partner', () => import('./billing/invoices.tsx')),
  page('/billing/invoices/:id', 'partner', () => import('./billing/invoice.tsx')),
  page('/billing/prices', 'partner', () => import('./billing/prices.tsx')),
  page('/billing/reconciliation', 'partner', () => import('./billing/reconciliation.tsx')),
  page('/billing/texts', 'partner', () => import('./billing/texts.tsx')),
  page('/bulk', 'admin', () => import('./bulk/list.tsx')),
  page('/bulk/:id', 'admin', () => import('./bulk/session.tsx')),
  page('/bulk/new', 'admin', () => import('./bulk/compose.tsx')),
  page('/event-log', 'admin', () => import('./events/log.tsx')),
  page('/events', 'admin', () => import('./events/explorer.tsx')),
  page('/events/streams/:stream', 'admin', () => import('./events/stream.tsx')),
  page('/events/verification', 'admin', () => import('./events/verification.tsx')),
  page('/extensions', 'admin', () => import('./administration/extensions.tsx')),
  page('/forms', 'person', () => import('./records/forms.tsx')),
  page('/ledger', 'person', () => import('./ledger/reports.tsx')),
  page('/ledger/accounts', 'person', () => import('./ledger/accounts.tsx')),
  page('/ledger/entries', 'person', () => import('./ledger/entries.tsx')),
  page('/ledger/entries/:id', 'person', () => import('./ledger/entry.tsx')),
  page('/ledger/entries/:id/edit', 'person', () => import('./ledger/entry-form.tsx')),
  page('/ledger/failures', 'person', () => import('./ledger/failures.tsx')),
  page('/ledger/new-entry', 'person', () => import('./ledger/entry-form.tsx')),
  page('/ledger/rules', 'person', () => import('./ledger/rules.tsx')),
  page('/ledger/rules/:id', 'person', () => import('./ledger/rules.tsx')),
  page('/messages', 'person', () => import('./messages/page.tsx')),
  page('/messages/:id', 'person', () => import('./messages/page.tsx')),
  page('/notifications', 'person', () => import('./messages/notifications.tsx')),
  // Loaded with the shell, since most sign-ins lead here.
  { path: '/overview', for: 'person', Content: Overview },
  page('/platform/overview', 'platform', () => import('./platform/overview.tsx')),
  page('/platform/partners', 'platform', () => import('./platform/partners.tsx')),
  page('/platform/projections', 'platform', () => import('./platform/projections.tsx')),
  page('/platform/tenants', 'platform', () => import('./platform/tenants.tsx')),
  page('/platform/tenants/:id', 'platform', () => import('./platform/tenant.tsx')),
  page('/records', 'person', () => import('./records/entities.tsx')),
  page('/records/:entity', 'person', () => import('./records/table.tsx')),
  page('/records/:entity/:id', 'person', () => import('./records/record.tsx')),
  page('/time-travel', 'admin', () => import('./events/travel.tsx')),
  page('/users', 'admin', () => import('./administration/users.tsx')),
  page('/webhooks', 'person', () => import('./webhooks/list.tsx')),
  page('/webhooks/:id', 'person', () => import('./webhooks/subscription.tsx')),
  page('/webhooks/deliveries/:id', 'person', () => import('./webhooks/delivery.tsx')),
  page('/workflows', 'person', () => import('./records/workflows.tsx')),
  page('/workflows/:name', 'person', () => import('./records/workflows.tsx')),
];
