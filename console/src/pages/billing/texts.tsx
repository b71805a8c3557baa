import { useState } from 'react';
import type { components } from '../../../../client/src/index.ts';
import { Card, Form, Page, Pending, TextField, useAction, usePageSession, useRead } from '../../kit/index.ts';
import { BillingLinks, monthBefore } from './range.tsx';
import '../../styles/billing.css';

type Profile = components['schemas']['BillingProfile'];

const VARIABLES = ['customer', 'partner', 'meter', 'quantity', 'period'] as const;

/** Templates for the lines of invoices, with a preview while they are typed. */
export default function Texts() {
  const read = useRead(
    ['billing-profile'],
    (client, signal) => client.get('/api/v1/partner-portal/billing/profile', { signal }),
    { stale: Number.POSITIVE_INFINITY },
  );
  return (
    <Page
      title="Texts of invoices"
      about="Templates for the name and the description of each line. Existing invoices keep their texts."
    >
      <BillingLinks />
      <Card>
        {read.data === undefined ? <Pending of={read} what="the texts" /> : <Editor profile={read.data} />}
      </Card>
    </Page>
  );
}

interface Rendered {
  readonly text: string;
  readonly unknown: readonly string[];
}

/** Fills a template like the server, which refuses to save a template with an unknown variable. */
const rendered = (template: string, values: ReadonlyMap<string, string>): Rendered => {
  const unknown: string[] = [];
  const text = template.replaceAll(/\{\{(?: *([^{}]*?) *\}\}|.*$)/gs, (whole, name: string | undefined) => {
    const value = values.get(name ?? '');
    if (value === undefined) unknown.push(whole);
    return value ?? whole;
  });
  return { text, unknown };
};

const Editor = ({ profile }: { profile: Profile }) => {
  const session = usePageSession();
  const [name, setName] = useState(profile.item_name_template);
  const [description, setDescription] = useState(profile.item_description);
  const save = useAction(
    (client, body: Profile) => client.put('/api/v1/partner-portal/billing/profile', { body }),
    { invalidates: [['billing-profile'], ['statements']], done: 'The texts are saved.' },
  );
  const me = useRead(
    ['partner-session'],
    (client, signal) => client.get('/api/v1/partner-portal/me', { signal }),
    { stale: 60_000 },
  );
  const { from, to } = monthBefore(1);
  const last = new Date(Date.parse(`${to}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);
  const values = new Map([
    ['customer', 'Acme'],
    ['partner', me.data?.partner.name ?? (session.kind === 'partner' ? session.partnerId : '')],
    ['meter', 'messages_sent'],
    ['quantity', '135'],
    ['period', `${from}..${last}`],
  ]);
  const previews = [rendered(name, values), rendered(description, values)];
  const unknown = previews.flatMap((one) => one.unknown);
  return (
    <Form
      submit="Save"
      onSubmit={() => save.mutateAsync({ item_name_template: name, item_description: description })}
    >
      <p className="muted">
        Variables:{' '}
        {VARIABLES.map((variable) => (
          <span key={variable}>
            <code>{`{{${variable}}}`}</code>{' '}
          </span>
        ))}
      </p>
      <TextField
        name="item_name_template"
        label="Name of a line"
        required
        maxLength={200}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <TextField
        name="item_description"
        label="Description of a line"
        rows={2}
        maxLength={1000}
        value={description}
        onChange={({ target }) => setDescription(target.value)}
      />
      <div className="field">
        <span className="field-label">For example</span>
        <div className="billing-preview" role="status" aria-label="Preview">
          <strong>{previews[0]?.text}</strong>
          <p>{previews[1]?.text}</p>
        </div>
        {unknown.length === 0 ? null : (
          <span className="field-error">There is no variable {unknown.join(', ')}.</span>
        )}
      </div>
    </Form>
  );
};
