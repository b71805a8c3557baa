import { Link, useParams } from 'wouter';
import {
  Card,
  ConfirmButton,
  Count,
  Download,
  Facts,
  Page,
  pendingPage,
  Time,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { type Invoice, InvoiceState } from './invoices.tsx';
import { Lines } from './lines.tsx';
import { rangeQuery, windowText } from './range.tsx';
import '../../styles/billing.css';

const CRUMBS = [['/billing/invoices', 'Invoices']] as const;

/** One invoice as it was frozen, and the actions that its state allows. */
export default function InvoicePage() {
  const { id = '' } = useParams();
  const read = useRead(
    ['invoice', id],
    (client, signal) =>
      client.get('/api/v1/partner-portal/billing/invoices/{id}', { params: { path: { id } }, signal }),
    { every: 3000 },
  );
  const { data } = read;
  if (data === undefined) return pendingPage('Invoice', CRUMBS, { of: read, what: 'the invoice' });
  return (
    <Page
      title={data.number}
      about={storyOf(data)}
      crumbs={CRUMBS}
      actions={
        <>
          <Download
            name={`${data.number}.html`}
            text="Download the page"
            read={(client) =>
              client.stream('/api/v1/partner-portal/billing/invoices/{id}/page', { params: { path: { id } } })
            }
          />
          <Decide invoice={data} />
        </>
      }
    >
      {data.last_error === undefined ? null : (
        <div className="problem" role="status">
          <strong>The billing system did not accept it: {data.last_error}</strong>
        </div>
      )}
      <Card>
        <Facts
          of={{
            Customer: `${data.customer.name} (${data.customer.id})`,
            Window: windowText(data.window),
            State: <InvoiceState state={data.state} />,
            Revision: (
              <Count
                of={data.revision}
                to={`/billing/invoices?${new URLSearchParams({ customer: data.customer.id })}`}
                label="its revisions"
              />
            ),
            'Rate card': <Link href="/billing/prices">Version {data.rate_card_version}</Link>,
            Made: <Time at={data.generated_at} />,
            Issued: data.issued_at === undefined ? undefined : <Time at={data.issued_at} />,
            'In the billing system': data.upstream_ref,
            Voided: data.voided_at === undefined ? undefined : <Time at={data.voided_at} />,
          }}
        />
      </Card>
      <Card flush title="Lines">
        <Lines
          texts
          label="Lines"
          of={data}
          totalsTo={`/billing/customers/${data.customer.id}${rangeQuery(data.window)}`}
        />
      </Card>
      <p className="small muted">
        The printable page is for the customer: it has retail amounts, but no wholesale amounts and no margin.
        The <Link href={`/billing/customers/${data.customer.id}${rangeQuery(data.window)}`}>statement</Link>{' '}
        of the same window also shows later usage.
      </p>
    </Page>
  );
}

const storyOf = ({ state }: Invoice): string => {
  switch (state) {
    case 'generated':
      return 'It is frozen and not issued yet.';
    case 'issuing':
      return 'The billing system has not answered yet. The server retries automatically.';
    case 'issued':
      return 'The billing system has received it.';
    case 'void':
      return 'It is void; its window is free for another invoice.';
    default:
      return state satisfies never;
  }
};

const Decide = ({ invoice: { id, number, state } }: { invoice: Invoice }) => {
  const params = { path: { id } };
  const options = {
    invalidates: [['invoice', id], ['invoices'], ['statements'], ['reconciliation']],
  } as const;
  const issue = useAction(
    (client) => client.post('/api/v1/partner-portal/billing/invoices/{id}/issue', { params }),
    options,
  );
  const cancel = useAction(
    (client) => client.post('/api/v1/partner-portal/billing/invoices/{id}/void', { params }),
    options,
  );
  if (state !== 'generated') return null;
  return (
    <>
      <ConfirmButton
        ask={{
          title: `Void ${number}?`,
          consequence:
            'It stays readable, its number is not used again, and its window is free: the next invoice of the window has the next revision. This cannot be undone.',
          action: 'Void the invoice',
          run: () => cancel.mutateAsync(),
        }}
      >
        Void
      </ConfirmButton>
      <ConfirmButton
        tone="primary"
        ask={{
          title: `Issue ${number}?`,
          consequence:
            'It is sent to the billing system. Once the billing system has received it, it cannot be voided any more. While the billing system does not answer, the server retries automatically.',
          action: 'Issue the invoice',
          tone: 'primary',
          run: () => issue.mutateAsync(),
        }}
      >
        Issue
      </ConfirmButton>
    </>
  );
};
