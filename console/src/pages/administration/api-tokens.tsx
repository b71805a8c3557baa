import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import type { components } from '../../../../client/src/index.ts';
import {
  actions,
  ago,
  Badge,
  Button,
  type Column,
  ConfirmButton,
  Dialog,
  DialogButton,
  DialogForm,
  Empty,
  Page,
  Secret,
  SelectField,
  TableCard,
  TextField,
  useAction,
  usePages,
} from '../../kit/index.ts';
import { ScopesField, scopesIn } from './scopes.tsx';

type ApiToken = components['schemas']['ApiToken'];

const LIFETIMES = [
  ['90d', '90 days'],
  ['30d', '30 days'],
  ['1y', 'A year'],
  ['never', 'It does not expire'],
] as const;

const lifetimeOf = (text: string) => LIFETIMES.find(([value]) => value === text)?.[0] ?? '90d';

const NEVER = <span className="muted">never</span>;

const StateBadge = ({ token }: { token: ApiToken }) => {
  if (token.revoked_at !== null) return <Badge tone="danger">revoked</Badge>;
  const isOver = token.expires_at !== null && Date.parse(token.expires_at) <= Date.now();
  return isOver ? <Badge tone="warn">expired</Badge> : <Badge tone="ok">active</Badge>;
};

/** Long-lived tokens of programs: made with scopes, shown once, revoked. */
const ApiTokens = () => {
  const [secret, setSecret] = useState<string>();
  const tokens = usePages(['api-tokens'], (client, limit) =>
    client.items('/api/v1/tenant/api-tokens', { params: { query: { limit } } }),
  );
  const revoke = useAction(
    (client, id: string) => client.delete('/api/v1/tenant/api-tokens/{id}', { params: { path: { id } } }),
    { invalidates: [['api-tokens']], done: 'The token is revoked.' },
  );
  const columns: Column<ApiToken>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name, min: 150, grow: 2 },
    {
      key: 'prefix',
      title: 'Begins with',
      cell: ({ prefix }) => <code>svc_pat_{prefix}…</code>,
      min: 185,
      grow: 0,
    },
    { key: 'scopes', title: 'Scopes', cell: ({ scopes }) => scopes.join(', '), min: 170, grow: 2 },
    { key: 'state', title: 'State', cell: (token) => <StateBadge token={token} />, min: 95, grow: 0 },
    ago('used', 'Last used', ({ last_used_at }) => last_used_at, NEVER),
    ago('expires', 'Expires', ({ expires_at }) => expires_at, NEVER),
    actions(100, ({ id, name, revoked_at }) =>
      revoked_at === null ? (
        <ConfirmButton
          size="small"
          aria-label={`Revoke ${name}`}
          ask={{
            title: `Revoke ${name}?`,
            consequence:
              'Programs that use it are refused from the next request on. The token stays in the list for audit and cannot be activated again.',
            action: 'Revoke the token',
            run: () => revoke.mutateAsync(id),
          }}
        >
          Revoke
        </ConfirmButton>
      ) : null,
    ),
  ];
  return (
    <Page
      title="API tokens"
      about="For programs that call the API. A token belongs to the tenant and can do what its scopes allow."
      actions={
        <DialogButton tone="primary" dialog={(close) => <Mint onClose={close} onMade={setSecret} />}>
          <KeyRound size={16} aria-hidden />
          Make a token
        </DialogButton>
      }
    >
      <TableCard
        label="API tokens"
        rows={tokens}
        rowKey={({ id }) => id}
        columns={columns}
        empty={
          <Empty title="No tokens yet">
            <p>Make one for each program, with the fewest scopes that it needs.</p>
          </Empty>
        }
      />
      {secret === undefined ? null : (
        <Dialog title="The token" onClose={() => setSecret(undefined)}>
          <div className="stack">
            <Secret text={secret} name="the token" />
            <div className="form-end">
              <Button tone="primary" onClick={() => setSecret(undefined)}>
                I have copied it
              </Button>
            </div>
          </div>
        </Dialog>
      )}
    </Page>
  );
};

interface MintProps {
  readonly onClose: () => void;
  readonly onMade: (secret: string) => void;
}

const Mint = ({ onClose, onMade }: MintProps) => {
  const mint = useAction(
    (client, body: components['schemas']['MintApiTokenBody']) =>
      client.post('/api/v1/tenant/api-tokens', { body }),
    { invalidates: [['api-tokens']] },
  );
  return (
    <DialogForm
      title="Make a token"
      submit="Make the token"
      onClose={onClose}
      onSubmit={async (values) => {
        const { token } = await mint.mutateAsync({
          name: values.text('name'),
          scopes: scopesIn(values.all('scopes')),
          expires_in: lifetimeOf(values.text('expires_in')),
        });
        if (token !== undefined) onMade(token);
      }}
    >
      <TextField name="name" label="Name" required maxLength={200} hint="Which program uses it." />
      <SelectField name="expires_in" label="Lifetime" options={LIFETIMES} />
      <ScopesField />
    </DialogForm>
  );
};

export default ApiTokens;
