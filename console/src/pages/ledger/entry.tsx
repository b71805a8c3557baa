import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import {
  Button,
  Card,
  ConfirmButton,
  Copied,
  DialogForm,
  Facts,
  Figures,
  MoneyCell,
  Page,
  pendingPage,
  TextField,
  Time,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { useStreamOf } from '../events/event.ts';
import { type JournalEntry, StateBadge } from './entries.tsx';
import { ENTRY_CRUMBS, entriesPath } from './range.tsx';
import '../../styles/ledger.css';

const CHANGED = [['entries'], ['entry'], ['reports'], ['accounts']] as const;
const PATH = '/api/v1/tenant/gl/entries/{id}';

/** One entry with its lines, its source, and the entry that it reverses or that reverses it. */
export default function Entry() {
  const { id = '' } = useParams();
  const [, navigate] = useLocation();
  const events = useStreamOf('entry', id);
  const [isReversing, setReversing] = useState(false);
  const path = { id };
  const entry = useRead(['entry', id], (client, signal) => client.get(PATH, { params: { path }, signal }));
  const post = useAction((client) => client.post(`${PATH}/post`, { params: { path } }), {
    invalidates: CHANGED,
    done: 'The entry is posted.',
  });
  const discard = useAction((client) => client.delete(PATH, { params: { path } }), {
    invalidates: [['entries']],
    done: 'The draft is discarded.',
  });
  const { data } = entry;
  if (data === undefined) return pendingPage('Entry', ENTRY_CRUMBS, { of: entry, what: 'the entry' });
  const { currency, state, number, lines, source } = data;
  const title = number === null ? 'Draft' : `Entry #${number}`;
  return (
    <Page
      title={title}
      about={data.memo}
      crumbs={ENTRY_CRUMBS}
      actions={
        state === 'draft' ? (
          <>
            <ConfirmButton
              ask={{
                title: 'Discard this draft?',
                consequence: 'The draft is removed from the list. Its events stay in the log.',
                action: 'Discard draft',
                run: async () => {
                  await discard.mutateAsync();
                  navigate('/ledger/entries');
                },
              }}
            >
              Discard
            </ConfirmButton>
            <Link href={`/ledger/entries/${id}/edit`} className="button button-plain">
              Edit
            </Link>
            <ConfirmButton
              tone="primary"
              ask={{
                title: 'Post this entry?',
                consequence:
                  'It gets the next number, counts in all reports, and can never be changed. A mistake is corrected by a mirror entry.',
                action: 'Post entry',
                tone: 'primary',
                run: () => post.mutateAsync(),
              }}
            >
              Post
            </ConfirmButton>
          </>
        ) : state === 'posted' && data.reversal_of === undefined ? (
          <Button onClick={() => setReversing(true)}>Reverse</Button>
        ) : null
      }
    >
      <Card>
        <Facts
          of={{
            State: <StateBadge state={state} />,
            Date: data.date,
            Posted: data.posted_at === undefined ? undefined : <Time at={data.posted_at} />,
            Created: <Time at={data.created_at} />,
            Source: <Source of={source} />,
            Reverses: data.reversal_of === undefined ? undefined : <EntryLink id={data.reversal_of} />,
            'Reversed by': data.reversed_by === undefined ? undefined : <EntryLink id={data.reversed_by} />,
            Id: <Copied text={id} what="id" />,
            Events: events === undefined ? undefined : <Link href={events}>What happened to this entry</Link>,
          }}
        />
      </Card>
      <Card flush title="Lines">
        <Figures label="Lines" columns={['Account', 'Memo', { figure: 'Debit' }, { figure: 'Credit' }]}>
          <tbody>
            {lines.map((line) => (
              <tr key={line.line_no}>
                <th scope="row">
                  <Link href={entriesPath(line.account_code, {})}>
                    <span className="muted">{line.account_code}</span> {line.account_name}
                  </Link>
                </th>
                <td>{line.memo}</td>
                <MoneyCell minor={line.debit} currency={currency} to={events} zero="" />
                <MoneyCell minor={line.credit} currency={currency} to={events} zero="" />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr className="total">
              <th scope="row" colSpan={2}>
                Total
              </th>
              <MoneyCell minor={data.total_debit} currency={currency} to={events} />
              <MoneyCell minor={data.total_credit} currency={currency} to={events} />
            </tr>
          </tfoot>
        </Figures>
      </Card>
      {isReversing ? <ReverseDialog id={id} name={title} onClose={() => setReversing(false)} /> : null}
    </Page>
  );
}

const EntryLink = ({ id }: { id: string }) => (
  <Link href={`/ledger/entries/${id}`}>
    Entry <code>{id.slice(0, 8)}</code>
  </Link>
);

/** The source of an entry: a person, a reversal, or the event that a posting rule was applied to. */
const Source = ({ of: { kind, id, rule_id: ruleId } }: { of: JournalEntry['source'] }) => (
  <>
    {kind}
    {ruleId === undefined ? null : (
      <>
        {' by '}
        <Link href={`/ledger/rules/${ruleId}`}>its posting rule</Link>
      </>
    )}
    {id === undefined ? null : (
      <>
        {' · '}
        <code>{id}</code>
      </>
    )}
  </>
);

const ReverseDialog = ({ id, name, onClose }: { id: string; name: string; onClose: () => void }) => {
  const [, navigate] = useLocation();
  const reverse = useAction(
    (client, body: { date?: string; memo?: string }) =>
      client.post(`${PATH}/reverse`, { params: { path: { id } }, body }),
    { invalidates: CHANGED, done: 'The entry is reversed.' },
  );
  return (
    <DialogForm
      title={`Reverse ${name}?`}
      submit="Reverse entry"
      onClose={onClose}
      onSubmit={async (values) => {
        const mirror = await reverse.mutateAsync(values.given('date', 'memo'));
        navigate(`/ledger/entries/${mirror.id}`);
      }}
    >
      <p>
        A mirror entry is posted at once, with the next number. Both stay in the reports and cancel each other
        out. This cannot be undone.
      </p>
      <TextField name="date" label="Date of the mirror entry" type="date" hint="Default: today." />
      <TextField name="memo" label="Memo" maxLength={500} />
    </DialogForm>
  );
};
