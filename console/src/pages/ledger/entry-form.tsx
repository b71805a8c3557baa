import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { majorText } from '../../kit/currency.ts';
import {
  Button,
  Card,
  Form,
  IconButton,
  moneyText,
  Page,
  PendingCard,
  TextField,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { minorOf } from './money-input.ts';
import { ENTRY_CRUMBS } from './range.tsx';
import '../../styles/ledger.css';

interface Line {
  readonly key: number;
  readonly account: string;
  readonly debit: string;
  readonly credit: string;
  readonly memo: string;
}

interface Draft {
  readonly id: string | undefined;
  readonly date: string;
  readonly memo: string;
  readonly currency: string;
  readonly lines: readonly Line[];
}

const today = (): string => new Date().toISOString().slice(0, 10);
const emptyLine = (key: number): Line => ({ key, account: '', debit: '', credit: '', memo: '' });

/** Creates or changes a draft. A new draft has the currency of the ledger. */
export default function EntryForm() {
  const { id } = useParams();
  const trialBalance = useRead(['reports', 'currency'], (client, signal) =>
    client.get('/api/v1/tenant/reports/trial-balance', { signal }),
  );
  const entry = useRead(
    ['entry', id],
    (client, signal) =>
      client.get('/api/v1/tenant/gl/entries/{id}', { params: { path: { id: id ?? '' } }, signal }),
    { enabled: id !== undefined },
  );
  const title = id === undefined ? 'New entry' : 'Edit draft';
  const found = entry.data;
  const isReady = trialBalance.data !== undefined && (id === undefined || found !== undefined);
  return (
    <Page title={title} crumbs={ENTRY_CRUMBS} about="A draft may be changed until it is posted.">
      {isReady ? (
        <Editor
          draft={
            found === undefined
              ? {
                  id: undefined,
                  date: today(),
                  memo: '',
                  currency: trialBalance.data.currency,
                  lines: [emptyLine(0), emptyLine(1)],
                }
              : {
                  id,
                  date: found.date,
                  memo: found.memo,
                  currency: found.currency,
                  lines: found.lines.map((line) => ({
                    key: line.line_no,
                    account: line.account_code,
                    debit: line.debit === 0 ? '' : majorText(line.debit, found.currency),
                    credit: line.credit === 0 ? '' : majorText(line.credit, found.currency),
                    memo: line.memo ?? '',
                  })),
                }
          }
        />
      ) : (
        <PendingCard of={[trialBalance, entry]} what="the entry" />
      )}
    </Page>
  );
}

/** The sum of one side; undefined while a field holds a text that is no amount. Empty fields count as 0. */
const sumOf = (lines: readonly Line[], side: 'debit' | 'credit', currency: string): number | undefined => {
  try {
    return lines.reduce((sum, line) => sum + (minorOf(line[side], currency) ?? 0), 0);
  } catch {
    return undefined;
  }
};

const Editor = ({ draft }: { draft: Draft }) => {
  const [, navigate] = useLocation();
  const [lines, setLines] = useState(draft.lines);
  const { currency, id } = draft;
  const accounts = useRead(['accounts', 'all'], (client) =>
    Array.fromAsync(client.items('/api/v1/tenant/gl/accounts')),
  );
  const save = useAction(
    (client, body: ReturnType<typeof bodyOf>) =>
      id === undefined
        ? client.post('/api/v1/tenant/gl/entries', { body })
        : client.patch('/api/v1/tenant/gl/entries/{id}', { params: { path: { id } }, body }),
    { invalidates: [['entries'], ['entry']], done: 'The draft is saved.' },
  );
  const set = (key: number, change: Partial<Line>): void =>
    setLines((present) => present.map((line) => (line.key === key ? { ...line, ...change } : line)));
  const [debit, credit] = [sumOf(lines, 'debit', currency), sumOf(lines, 'credit', currency)];
  return (
    <Card>
      <Form
        submit="Save draft"
        onCancel={() => navigate(id === undefined ? '/ledger/entries' : `/ledger/entries/${id}`)}
        onSubmit={async (values) => {
          const saved = await save.mutateAsync(
            bodyOf(values.text('date'), values.text('memo'), currency, lines),
          );
          navigate(`/ledger/entries/${saved.id}`);
        }}
      >
        <TextField name="date" label="Date" type="date" required defaultValue={draft.date} />
        <TextField name="memo" label="Memo" maxLength={500} defaultValue={draft.memo} />
        <datalist id="ledger-accounts">
          {(accounts.data ?? [])
            .filter(({ active }) => active)
            .map(({ code, name }) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
        </datalist>
        {lines.map((line, at) => (
          <fieldset key={line.key} className="ledger-line">
            <legend className="hidden-text">Line {at + 1}</legend>
            <TextField
              name={`lines.${at}.account_code`}
              label="Account"
              list="ledger-accounts"
              required
              autoComplete="off"
              value={line.account}
              onChange={({ target }) => set(line.key, { account: target.value })}
            />
            {(['debit', 'credit'] as const).map((side) => (
              <TextField
                key={side}
                name={`lines.${at}.${side}`}
                label={side === 'debit' ? 'Debit' : 'Credit'}
                inputMode="decimal"
                autoComplete="off"
                value={line[side]}
                onChange={({ target }) =>
                  set(line.key, {
                    [side]: target.value,
                    ...(target.value === '' ? {} : { [side === 'debit' ? 'credit' : 'debit']: '' }),
                  })
                }
              />
            ))}
            <TextField
              name={`lines.${at}.memo`}
              label="Memo of the line"
              maxLength={500}
              value={line.memo}
              onChange={({ target }) => set(line.key, { memo: target.value })}
            />
            <IconButton
              label={`Remove line ${at + 1}`}
              icon={<X size={16} aria-hidden />}
              disabled={lines.length <= 2}
              onClick={() => setLines((present) => present.filter(({ key }) => key !== line.key))}
            />
          </fieldset>
        ))}
        <div className="row between">
          <Button
            size="small"
            onClick={() =>
              setLines((present) => [...present, emptyLine(Math.max(...present.map(({ key }) => key)) + 1)])
            }
          >
            <Plus size={15} aria-hidden /> Add line
          </Button>
          <output aria-live="polite">{balanceText(debit, credit, currency)}</output>
        </div>
      </Form>
    </Card>
  );
};

const balanceText = (debit: number | undefined, credit: number | undefined, currency: string): string => {
  if (debit === undefined || credit === undefined) return 'An amount is written like 49.90.';
  const difference = Math.abs(debit - credit);
  if (debit + credit === 0) return 'Each line has a debit or a credit.';
  if (difference === 0) return `Balanced: ${moneyText(debit, currency)} on each side`;
  return `${moneyText(difference, currency)} missing on the ${debit > credit ? 'credit' : 'debit'} side`;
};

/** @throws {RangeError} for a text that is no amount */
const bodyOf = (date: string, memo: string, currency: string, lines: readonly Line[]) => ({
  date,
  memo,
  currency,
  lines: lines.map((line) => {
    const [debit, credit] = [minorOf(line.debit, currency), minorOf(line.credit, currency)];
    return {
      account_code: line.account.trim(),
      ...(debit === undefined ? {} : { debit }),
      ...(credit === undefined ? {} : { credit }),
      ...(line.memo.trim() === '' ? {} : { memo: line.memo.trim() }),
    };
  }),
});
