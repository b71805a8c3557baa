import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  ago,
  Badge,
  type Column,
  counts,
  Dialog,
  DialogButton,
  Empty,
  Page,
  Secret,
  TableCard,
  useAction,
  usePages,
} from '../../kit/index.ts';
import { type Given, type Subscription, SubscriptionDialog } from './subscription-form.tsx';

type Created = components['schemas']['WebhookSubscriptionWithSecret'];

export const deadLettersPath = (id: string): string => `/webhooks/${id}?status=dead`;

export const SubscriptionState = ({ of }: { of: Subscription }) => {
  if (of.state === 'paused') return <Badge tone="danger">Paused</Badge>;
  return of.consecutive_dead_letters > 0 ? (
    <Badge tone="warn">Failing</Badge>
  ) : (
    <Badge tone="ok">Active</Badge>
  );
};

const COLUMNS: readonly Column<Subscription>[] = [
  {
    key: 'url',
    title: 'URL',
    min: 240,
    grow: 3,
    cell: ({ id, url }) => <Link href={`/webhooks/${id}`}>{url}</Link>,
  },
  { key: 'events', title: 'Events', min: 180, grow: 2, cell: ({ events }) => eventsText(events) },
  { key: 'state', title: 'State', min: 100, grow: 0, cell: (each) => <SubscriptionState of={each} /> },
  counts(
    'failing',
    'Given up in a row',
    ({ consecutive_dead_letters }) => consecutive_dead_letters,
    ({ id }) => deadLettersPath(id),
    140,
  ),
  ago('created', 'Created', ({ created_at }) => created_at),
];

export const eventsText = (events: readonly string[]): string =>
  events.includes('*') ? 'All events' : events.join(', ');

export default function Webhooks() {
  const [, navigate] = useLocation();
  const [created, setCreated] = useState<Created>();
  const rows = usePages(['webhooks'], (client, limit) =>
    client.items('/api/v1/tenant/webhooks', { params: { query: { limit } } }),
  );
  const create = useAction((client, body: Given) => client.post('/api/v1/tenant/webhooks', { body }), {
    invalidates: [['webhooks']],
  });
  return (
    <Page
      title="Webhooks"
      about="Each subscription receives the events that it selects, signed and with retries. Open one to see what happened to each delivery."
      actions={
        <DialogButton
          tone="primary"
          dialog={(close) => (
            <SubscriptionDialog
              title="New subscription"
              submit="Subscribe"
              onClose={close}
              onSave={async (body) => setCreated(await create.mutateAsync(body))}
            />
          )}
        >
          New subscription
        </DialogButton>
      }
    >
      <TableCard
        label="Webhook subscriptions"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        to={({ id }) => `/webhooks/${id}`}
        empty={
          <Empty title="No subscription yet">
            <p>A subscription sends events to an HTTPS address of yours as they happen.</p>
          </Empty>
        }
      />
      {created === undefined ? null : (
        <Dialog title="The signing secret" onClose={() => navigate(`/webhooks/${created.id}`)}>
          <Secret text={created.secret ?? ''} name="the signing secret" />
        </Dialog>
      )}
    </Page>
  );
}
