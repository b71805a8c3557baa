import { Link, useParams } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  Card,
  ConfirmButton,
  Copied,
  Copy,
  Facts,
  Figures,
  Json,
  Page,
  pendingPage,
  Tabs,
  Time,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { useStreamOf } from '../events/event.ts';
import { DeliveryStatus } from './deliveries.tsx';

type Detail = components['schemas']['WebhookDeliveryDetail'];

/** Describes the state of a delivery in one sentence. */
const storyOf = ({ status, attempts, response_code, last_error, next_attempt_at }: Detail): string => {
  const times = `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`;
  const why = last_error ?? (response_code === null ? 'no answer' : `the receiver answered ${response_code}`);
  switch (status) {
    case 'delivered':
      return `The receiver accepted it after ${times}${response_code === null ? '' : ` with HTTP ${response_code}`}.`;
    case 'pending':
      if (attempts === 0) return 'It has not been tried yet.';
      return `It failed ${times === '1 attempt' ? 'once' : `in ${times}`}: ${why}.${next_attempt_at === null ? '' : ' It is retried.'}`;
    case 'failed':
      return `The URL was refused, so nothing was sent: ${why}.`;
    case 'dead':
      return `It was given up after ${times}: ${why}.`;
    default:
      return status satisfies never;
  }
};

/** One delivery: why it failed, each attempt, and the body as it was sent. */
export default function Delivery() {
  const { id = '' } = useParams();
  const params = { path: { delivery_id: id } };
  const read = useRead(
    ['delivery', id],
    (client, signal) => client.get('/api/v1/tenant/webhooks/deliveries/{delivery_id}', { params, signal }),
    { every: 5000 },
  );
  const resend = useAction(
    (client) => client.post('/api/v1/tenant/webhooks/deliveries/{delivery_id}/replay', { params }),
    { invalidates: [['delivery', id], ['deliveries']], done: 'It is sent once more.' },
  );
  const { data } = read;
  if (data === undefined)
    return pendingPage('Delivery', [['/webhooks', 'Webhooks']], { of: read, what: 'the delivery' });
  return (
    <Page
      title={data.event}
      about={storyOf(data)}
      crumbs={[
        ['/webhooks', 'Webhooks'],
        [`/webhooks/${data.subscription_id}`, 'Subscription'],
      ]}
      actions={
        <ConfirmButton
          tone="primary"
          ask={{
            title: 'Send it once more?',
            consequence: 'The same bytes are sent with the same id, signed with the current secret.',
            action: 'Resend',
            tone: 'primary',
            run: () => resend.mutateAsync(),
          }}
        >
          Resend
        </ConfirmButton>
      }
    >
      <Card>
        <Facts
          of={{
            Status: <DeliveryStatus status={data.status} />,
            Created: <Time at={data.created_at} />,
            'Last attempt': data.last_attempt_at === null ? undefined : <Time at={data.last_attempt_at} />,
            'Next attempt': data.next_attempt_at === null ? undefined : <Time at={data.next_attempt_at} />,
            Id: <Copied text={id} what="id" />,
          }}
        />
      </Card>
      <Attempts of={data} />
      <Body text={data.body} id={id} />
    </Page>
  );
}

const OUTCOMES = {
  delivered: <Badge tone="ok">Accepted</Badge>,
  failed: <Badge tone="danger">Failed</Badge>,
  refused: <Badge tone="danger">Refused</Badge>,
} as const;

const Attempts = ({ of: { history } }: { of: Detail }) => (
  <Card flush title="Attempts">
    {history.length === 0 ? (
      <div className="card-body muted">It has not been tried yet.</div>
    ) : (
      <Figures
        label="Attempts"
        columns={['Attempt', 'When', 'Outcome', 'Answer', { figure: 'Time' }, 'Error']}
      >
        <tbody>
          {history.map(({ attempt, at, status, response_code, ms, error }) => (
            <tr key={`${attempt} ${at}`}>
              <th scope="row">{attempt}</th>
              <td>
                <Time at={at} />
              </td>
              <td>{OUTCOMES[status]}</td>
              <td>{response_code === null ? 'none' : `HTTP ${response_code}`}</td>
              <td className="figure">{ms === null ? '' : `${ms.toLocaleString()} ms`}</td>
              <td>{error === `HTTP ${response_code}` ? '' : error}</td>
            </tr>
          ))}
        </tbody>
      </Figures>
    )}
  </Card>
);

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const Body = ({ text, id }: { text: string; id: string }) => {
  const stream = useStreamOf('delivery', id);
  return (
    <Card title="Body" actions={<Copy text={text} label="Copy the body" />}>
      <div className="stack">
        <Tabs
          label="Forms of the body"
          tabs={[
            { key: 'tree', title: 'Fields', content: <Json value={parsed(text)} open={3} /> },
            {
              key: 'raw',
              title: 'As sent',
              content: (
                <section className="json" aria-label="The bytes as sent" tabIndex={0}>
                  {text}
                </section>
              ),
            },
          ]}
        />
        {stream === undefined ? null : (
          <p className="small muted">
            What caused it is in <Link href={stream}>its events</Link>.
          </p>
        )}
      </div>
    </Card>
  );
};
