import { useLocation, useParams } from 'wouter';
import { Card, ConfirmButton, Empty, Page, PendingCard, useAction } from '../../kit/index.ts';
import { Lines } from './lines.tsx';
import { RangeFields, rangeQuery, useRange, windowText } from './range.tsx';
import { type Statement, useStatements } from './statements.tsx';
import '../../styles/billing.css';

/** The statements of one customer: a window has one statement per currency. */
export default function CustomerStatement() {
  const { id = '' } = useParams();
  const [range, setRange] = useRange();
  const read = useStatements(range);
  const found = read.data?.filter(({ customer }) => customer.id === id);
  return (
    <Page
      title={found?.[0]?.customer.name ?? id}
      about={found?.[0] === undefined ? undefined : windowText(found[0].window)}
      crumbs={[[`/billing${rangeQuery(range)}`, 'Statements']]}
      actions={found?.[0] === undefined ? undefined : <Generate of={found[0]} />}
    >
      <RangeFields range={range} onChange={setRange} />
      {found === undefined ? (
        <PendingCard of={read} what="the statement" />
      ) : found.length === 0 ? (
        <Card>
          <Empty title="It was not your customer in this window" />
        </Card>
      ) : (
        found.map((each) => (
          <Card key={each.currency} flush title={`Statement in ${each.currency}`}>
            <Lines
              label={`Statement in ${each.currency}`}
              of={each}
              totalsTo={`/billing/reconciliation${rangeQuery(range)}`}
            />
          </Card>
        ))
      )}
    </Page>
  );
}

const Generate = ({ of: { customer, window } }: { of: Statement }) => {
  const [, navigate] = useLocation();
  const generate = useAction(
    (client) =>
      // Names the window of the question, since the current month may have changed meanwhile.
      client.post('/api/v1/partner-portal/billing/invoices/generate', {
        body: { customer_id: customer.id, from: window.from, to: window.to },
      }),
    { invalidates: [['statements'], ['invoices'], ['reconciliation']] },
  );
  return (
    <ConfirmButton
      tone="primary"
      ask={{
        title: `Make an invoice for ${customer.name}?`,
        consequence: `Lines, texts and prices of ${windowText(window)} are frozen${window.open ? ', although the window has not ended: later usage goes on the next invoice, marked late' : ''}. Nothing is sent to the customer. Until it is issued you can void it.`,
        action: 'Make the invoice',
        tone: 'primary',
        run: async () => navigate(`/billing/invoices/${(await generate.mutateAsync()).id}`),
      }}
    >
      Make an invoice
    </ConfirmButton>
  );
};
