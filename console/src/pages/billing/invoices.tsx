import { Link, useLocation } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  ago,
  Badge,
  type Column,
  DialogButton,
  DialogForm,
  Empty,
  Failed,
  Filters,
  Page,
  SelectField,
  SelectFilter,
  TableCard,
  TextField,
  TextFilter,
  type Tone,
  useAction,
  useFilters,
  usePages,
} from '../../kit/index.ts';
import { amounts, BillingLinks, monthBefore, windowText } from './range.tsx';
import { useStatements } from './statements.tsx';
import '../../styles/billing.css';

export type Invoice = components['schemas']['PartnerInvoice'];
type State = Invoice['state'];

const STATES = {
  generated: { text: 'Not issued', tone: 'info' },
  issuing: { text: 'Being issued', tone: 'warn' },
  issued: { text: 'Issued', tone: 'ok' },
  void: { text: 'Void', tone: 'neutral' },
} as const satisfies Record<State, { text: string; tone: Tone }>;

export const InvoiceState = ({ state }: { state: State }) => (
  <Badge tone={STATES[state].tone}>{STATES[state].text}</Badge>
);

const isState = (text: string): text is State => Object.hasOwn(STATES, text);

const pathOf = ({ id }: Invoice): string => `/billing/invoices/${id}`;

const COLUMNS: readonly Column<Invoice>[] = [
  {
    key: 'number',
    title: 'Number',
    min: 130,
    cell: (invoice) => <Link href={pathOf(invoice)}>{invoice.number}</Link>,
  },
  { key: 'customer', title: 'Customer', min: 150, grow: 2, cell: ({ customer }) => customer.name },
  { key: 'window', title: 'Window', min: 260, grow: 2, cell: ({ window }) => windowText(window) },
  amounts('retail', 'Retail', {
    of: ({ totals }) => totals.retail,
    currency: ({ currency }) => currency,
    to: pathOf,
  }),
  { key: 'state', title: 'State', min: 110, grow: 0, cell: InvoiceState },
  ago('made', 'Created', ({ generated_at }) => generated_at),
];

/** Frozen invoices of all states, newest first. */
export default function Invoices() {
  const filters = useFilters(['state', 'customer']);
  const [state, customer] = [filters.of('state'), filters.of('customer')];
  const query = {
    ...(isState(state) ? { state } : {}),
    ...(customer === '' ? {} : { customer_id: customer }),
  };
  const rows = usePages(
    ['invoices', query],
    (client, limit) =>
      client.items('/api/v1/partner-portal/billing/invoices', { params: { query: { ...query, limit } } }),
    { every: 10_000 },
  );
  return (
    <Page
      title="Invoices"
      about="An invoice is frozen when it is made. Until it is issued it can be voided, which frees its window again."
      actions={
        <DialogButton tone="primary" dialog={(close) => <NewInvoice onClose={close} />}>
          New invoice
        </DialogButton>
      }
    >
      <BillingLinks />
      <Filters label="Filters of the invoices" of={filters}>
        <SelectFilter
          label="State"
          {...filters.field('state')}
          options={Object.entries(STATES).map(([value, { text }]) => [value, text])}
        />
        <TextFilter label="Customer’s id" {...filters.field('customer')} />
      </Filters>
      <TableCard
        label="Invoices"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        to={pathOf}
        empty={
          <Empty title={filters.isAny ? 'No invoice matches these filters' : 'No invoices yet'}>
            <p>{filters.isAny ? 'Remove a filter to see more.' : 'Make one from a statement.'}</p>
          </Empty>
        }
      />
    </Page>
  );
}

const NewInvoice = ({ onClose }: { onClose: () => void }) => {
  const [, navigate] = useLocation();
  const last = monthBefore(1);
  // Customers of this month and of the last one, which the fields propose.
  const statements = useStatements({ from: last.from, to: monthBefore(0).to });
  const customers = [
    ...new Map(
      (statements.data ?? []).map(({ customer }) => [customer.id, `${customer.name} (${customer.id})`]),
    ),
  ];
  const generate = useAction(
    (client, body: components['schemas']['GenerateInvoiceBody']) =>
      client.post('/api/v1/partner-portal/billing/invoices/generate', { body }),
    { invalidates: [['invoices'], ['statements'], ['reconciliation']] },
  );
  return (
    <DialogForm
      title="New invoice"
      submit="Make the invoice"
      onClose={onClose}
      onSubmit={async (values) => {
        const made = await generate.mutateAsync({
          customer_id: values.text('customer_id'),
          from: values.text('from'),
          to: values.text('to'),
        });
        navigate(pathOf(made));
      }}
    >
      <p>
        Freezes lines, texts and prices of the window. Nothing is sent to the customer; until it is issued it
        can be voided.
      </p>
      <Failed of={statements} />
      <SelectField name="customer_id" label="Customer" options={customers} />
      <TextField name="from" label="From" type="date" required defaultValue={last.from} />
      <TextField
        name="to"
        label="To before"
        type="date"
        required
        defaultValue={last.to}
        hint="This day is not in the window."
      />
    </DialogForm>
  );
};
