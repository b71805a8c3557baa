import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import {
  Button,
  Card,
  ConfirmButton,
  Copied,
  Dialog,
  Facts,
  Page,
  pendingPage,
  Secret,
  Time,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { Deliveries } from './deliveries.tsx';
import { deadLettersPath, eventsText, SubscriptionState } from './list.tsx';
import { type Subscription, SubscriptionDialog } from './subscription-form.tsx';

const PATH = '/api/v1/tenant/webhooks/{id}';
const CRUMBS = [['/webhooks', 'Webhooks']] as const;

/** One subscription and its deliveries. */
export default function SubscriptionPage() {
  const { id = '' } = useParams();
  const params = { path: { id } };
  const read = useRead(['webhook', id], (client, signal) => client.get(PATH, { params, signal }));
  if (read.data === undefined)
    return pendingPage('Subscription', CRUMBS, { of: read, what: 'the subscription' });
  return <Present subscription={read.data} />;
}

const Present = ({ subscription }: { subscription: Subscription }) => {
  const { id, url, description, events } = subscription;
  const [isEditing, setEditing] = useState(false);
  const [secret, setSecret] = useState<string>();
  const { change, actions } = useSubscriptionActions(subscription, {
    setSecret,
    edit: () => setEditing(true),
  });
  return (
    <Page title={url} about={description} crumbs={CRUMBS} actions={actions}>
      <Card>
        <Facts
          of={{
            State: <SubscriptionState of={subscription} />,
            Events: eventsText(events),
            'Given up in a row': (
              <>
                <Link href={deadLettersPath(id)}>{subscription.consecutive_dead_letters}</Link>; the tenth
                pauses the subscription
              </>
            ),
            Created: <Time at={subscription.created_at} />,
            'Secret rotated':
              subscription.secret_rotated_at === null ? undefined : (
                <Time at={subscription.secret_rotated_at} />
              ),
            Id: <Copied text={id} what="id" />,
          }}
        />
      </Card>
      <Deliveries subscriptionId={id} />
      {isEditing ? (
        <SubscriptionDialog
          title="Edit subscription"
          subscription={subscription}
          submit="Save"
          onClose={() => setEditing(false)}
          onSave={change.mutateAsync}
        />
      ) : null}
      {secret === undefined ? null : (
        <Dialog title="The new signing secret" onClose={() => setSecret(undefined)}>
          <Secret text={secret} name="the signing secret" />
          <p>
            For a time that the server’s operator sets, each delivery is signed with the former secret as
            well.
          </p>
        </Dialog>
      )}
    </Page>
  );
};

type Change = Partial<Pick<Subscription, 'url' | 'description' | 'events' | 'state'>>;

const useSubscriptionActions = (
  { id, url, state }: Subscription,
  { setSecret, edit }: { setSecret: (secret: string) => void; edit: () => void },
) => {
  const [, navigate] = useLocation();
  const params = { path: { id } };
  const invalidates = [['webhooks'], ['webhook', id], ['deliveries', id]] as const;
  const change = useAction((client, body: Change) => client.patch(PATH, { params, body }), {
    invalidates,
    done: 'The subscription is changed.',
  });
  const remove = useAction((client) => client.delete(PATH, { params }), {
    invalidates: [['webhooks']],
    done: 'The subscription is deleted.',
  });
  const rotate = useAction((client) => client.post(`${PATH}/rotate-secret`, { params }), { invalidates });
  const test = useAction((client) => client.post(`${PATH}/test`, { params }), {
    invalidates,
    done: 'A test delivery is on its way; it appears below.',
  });
  const resend = useAction((client) => client.post(`${PATH}/replay-dlq`, { params }), {
    invalidates,
    done: ({ replayed }) =>
      `${replayed} ${replayed === 1 ? 'delivery is' : 'deliveries are'} tried once more.`,
  });
  const isActive = state === 'active';
  const actions = (
    <>
      <Button onClick={() => test.mutate()} disabled={!isActive}>
        Send test
      </Button>
      <ConfirmButton
        disabled={!isActive}
        ask={{
          title: 'Resend all dead letters?',
          consequence:
            'Each delivery that was given up is tried once more, oldest first. The receiver sees the same ids, so it can recognise those that it already has.',
          action: 'Resend all',
          tone: 'primary',
          run: () => resend.mutateAsync(),
        }}
      >
        Resend dead letters
      </ConfirmButton>
      <ConfirmButton
        ask={{
          title: 'Rotate the secret?',
          consequence:
            'A new secret signs from now on. For a time that the server’s operator sets, the former one signs as well, so that the receiver can be changed without a gap.',
          action: 'Rotate secret',
          tone: 'primary',
          run: async () => setSecret((await rotate.mutateAsync()).secret ?? ''),
        }}
      >
        Rotate secret
      </ConfirmButton>
      <Button onClick={edit}>Edit</Button>
      <ConfirmButton
        ask={{
          title: isActive ? 'Pause this subscription?' : 'Make this subscription active?',
          consequence: isActive
            ? 'It gets no events until it is active again, and those that happen meanwhile are not kept for it.'
            : 'It gets events from now on. Those that happened while it was paused are not sent.',
          action: isActive ? 'Pause' : 'Activate',
          tone: isActive ? 'danger' : 'primary',
          run: () => change.mutateAsync({ state: isActive ? 'paused' : 'active' }),
        }}
      >
        {isActive ? 'Pause' : 'Activate'}
      </ConfirmButton>
      <ConfirmButton
        tone="danger"
        ask={{
          title: `Delete ${url}?`,
          consequence: 'Nothing is sent to it any more. Pending deliveries and its history are deleted.',
          action: 'Delete subscription',
          run: async () => {
            await remove.mutateAsync();
            navigate('/webhooks');
          },
        }}
      >
        Delete
      </ConfirmButton>
    </>
  );
  return { change, actions };
};
