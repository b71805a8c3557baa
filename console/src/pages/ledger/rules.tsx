import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { isRecord } from '../../../../client/src/errors.ts';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  Card,
  type Column,
  ConfirmButton,
  Empty,
  Facts,
  Field,
  Figures,
  Form,
  Json,
  Page,
  pendingPage,
  TableCard,
  Time,
  useAction,
  useIsAdmin,
  usePages,
  useRead,
} from '../../kit/index.ts';
import { entriesPath, LedgerLinks } from './range.tsx';
import '../../styles/ledger.css';

type Rule = components['schemas']['PostingRule'];

const RULES = '/api/v1/tenant/gl/posting-rules';

const StateOf = ({ active }: { active: boolean }) =>
  active ? <Badge tone="ok">Active</Badge> : <Badge>Inactive</Badge>;

const COLUMNS: readonly Column<Rule>[] = [
  {
    key: 'name',
    title: 'Name',
    min: 180,
    grow: 2,
    cell: ({ id, name }) => <Link href={`/ledger/rules/${id}`}>{name}</Link>,
  },
  {
    key: 'source',
    title: 'When this happens',
    min: 160,
    cell: ({ source_kind }) => <code>{source_kind}</code>,
  },
  {
    key: 'when',
    title: 'And this holds',
    min: 200,
    grow: 2,
    cell: ({ when }) => (when === undefined ? '' : <code>{when}</code>),
  },
  {
    key: 'mode',
    title: 'It makes',
    min: 120,
    grow: 0,
    cell: ({ mode }) => (mode === 'post' ? 'A posted entry' : 'A draft'),
  },
  { key: 'active', title: 'State', min: 100, grow: 0, cell: StateOf },
];

/** Rules that write entries when events happen. */
export default function Rules() {
  const { id } = useParams();
  return id === undefined ? <RuleList /> : <RuleDetail id={id} />;
}

const RuleList = () => {
  const rows = usePages(['posting-rules'], (client, limit) =>
    client.items(RULES, { params: { query: { limit } } }),
  );
  return (
    <Page
      title="Posting rules"
      about="A rule creates an entry when an event happens. Events for which it could not are under Failures."
      crumbs={[['/ledger', 'Ledger']]}
    >
      <LedgerLinks />
      <TableCard
        label="Posting rules"
        rows={rows}
        columns={COLUMNS}
        rowKey={(rule) => rule.id}
        to={(rule) => `/ledger/rules/${rule.id}`}
        empty={
          <Empty title="No posting rules yet">
            <p>
              Rules are created by <code>POST {RULES}</code>.
            </p>
          </Empty>
        }
      />
    </Page>
  );
};

const RuleDetail = ({ id }: { id: string }) => {
  const isAdmin = useIsAdmin();
  const params = { path: { id } };
  const rule = useRead(['posting-rules', id], (client, signal) =>
    client.get(`${RULES}/{id}`, { params, signal }),
  );
  const activate = useAction(
    (client, active: boolean) => client.patch(`${RULES}/{id}`, { params, body: { active } }),
    { invalidates: [['posting-rules']], done: 'The rule is changed.' },
  );
  const { data } = rule;
  const crumbs = [
    ['/ledger', 'Ledger'],
    ['/ledger/rules', 'Posting rules'],
  ] as const;
  if (data === undefined) return pendingPage('Posting rule', crumbs, { of: rule, what: 'the rule' });
  const verb = data.active ? 'Stop' : 'Start';
  return (
    <Page
      title={data.name}
      crumbs={crumbs}
      actions={
        isAdmin ? (
          <ConfirmButton
            ask={{
              title: `${verb} “${data.name}”?`,
              consequence: data.active
                ? 'From now on, this rule creates no entries. Entries that it created stay.'
                : 'From now on, this rule creates entries of new events. Earlier events get none.',
              action: `${verb} rule`,
              tone: data.active ? 'danger' : 'primary',
              run: () => activate.mutateAsync(!data.active),
            }}
          >
            {verb} rule
          </ConfirmButton>
        ) : null
      }
    >
      <Card>
        <Facts
          of={{
            State: <StateOf active={data.active} />,
            'When this happens': <code>{data.source_kind}</code>,
            'And this holds': data.when === undefined ? undefined : <code>{data.when}</code>,
            'It makes': data.mode === 'post' ? 'A posted entry' : 'A draft',
            'Dated by': data.date === undefined ? undefined : <code>{data.date}</code>,
            Changed: <Time at={data.updated_at} />,
          }}
        />
      </Card>
      <Card flush title="Lines">
        <Figures label="Lines" columns={['Account', 'Side', 'Amount', 'Memo']}>
          <tbody>
            {data.lines.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no id, and are not reordered here
              <tr key={at}>
                <th scope="row">
                  <Link href={entriesPath(line.account_code, {})}>{line.account_code}</Link>
                </th>
                <td>{line.side}</td>
                <td>
                  <code>{amountText(line.amount)}</code>
                </td>
                <td>{line.memo}</td>
              </tr>
            ))}
          </tbody>
        </Figures>
      </Card>
      <Preview id={id} />
    </Page>
  );
};

const amountText = (amount: object): string => {
  if ('remainder' in amount) return 'the remainder';
  const { percent, path, fixed } = { percent: undefined, path: undefined, fixed: undefined, ...amount };
  if (fixed !== undefined) return String(fixed);
  return percent === undefined ? String(path) : `${percent} % of ${path}`;
};

/** Previews the entry of a payload; nothing is stored. */
const Preview = ({ id }: { id: string }) => {
  const [result, setResult] = useState<unknown>();
  const preview = useAction((client, payload: Record<string, unknown>) =>
    client.post(`${RULES}/{id}/preview`, { params: { path: { id } }, body: { payload } }),
  );
  return (
    <Card title="Try it">
      <Form
        submit="Show the entry"
        onSubmit={async (values) => {
          setResult(undefined);
          setResult(await preview.mutateAsync(payloadOf(values.text('payload'))));
        }}
      >
        <Field
          name="payload"
          label="Payload"
          hint="The data of an example event, as a JSON object. Nothing is stored."
        >
          {(control) => (
            <textarea
              {...control}
              className="input mono"
              rows={5}
              spellCheck={false}
              defaultValue={'{\n  \n}'}
            />
          )}
        </Field>
      </Form>
      {result === undefined ? null : <Json value={result} />}
    </Card>
  );
};

/** @throws {Error} for a text that is no JSON object */
const payloadOf = (text: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('The payload is a JSON object.');
  return { ...value };
};
