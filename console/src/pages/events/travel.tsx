import { useLocation } from 'wouter';
import { Card, Form, Page, SelectField, TextField, useTenant } from '../../kit/index.ts';
import { streamPath } from './event.ts';
import { EventLinks } from './links.tsx';

const KINDS = [
  ['record', 'Record'],
  ['conversation', 'Conversation'],
  ['entry', 'Draft of a journal entry'],
  ['user', 'User'],
  ['bulk', 'Bulk session'],
  ['form', 'Form'],
  ['delivery', 'Delivery of a webhook'],
  ['schema', 'Entity (its name)'],
  ['workflow', 'Workflow (its name)'],
] as const;

/** Asks for a resource and a moment, and opens its stream at that moment. */
export default function Travel() {
  const [, navigate] = useLocation();
  const tenantId = useTenant()?.tenantId ?? '';
  return (
    <Page
      title="Time travel"
      about="What a record, a draft or a user looked like at any moment, from its own events. The pages of records and entries lead here as well."
    >
      <EventLinks />
      <Card title="Show a past state">
        <Form
          submit="Show it"
          onSubmit={async (values) => {
            const stream = `${tenantId}.${values.text('kind')}-${values.text('id')}`;
            const at = values.optional('at');
            const moment = at === undefined ? '' : `?at=${encodeURIComponent(new Date(at).toISOString())}`;
            navigate(`${streamPath(stream)}${moment}`);
          }}
        >
          <SelectField name="kind" label="Kind" options={KINDS} />
          <TextField name="id" label="Id" required hint="From the address of its page, or from an event." />
          <TextField
            name="at"
            label="Moment"
            type="datetime-local"
            step={1}
            hint="Leave it empty for the current state."
          />
        </Form>
      </Card>
      <Card title="The ledger as it was">
        <p>
          Add <code>as_of_position</code> to the address of a report of the ledger, with the position of an
          event: entries that were recorded later are then left out, whatever their date. The page of an event
          has this link.
        </p>
      </Card>
    </Page>
  );
}
