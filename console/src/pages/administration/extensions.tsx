import { Puzzle } from 'lucide-react';
import type { components } from '../../../../client/src/index.ts';
import {
  ActionsMenu,
  actions,
  ago,
  Badge,
  type Column,
  ConfirmItem,
  DialogButton,
  DialogForm,
  Empty,
  MenuItem,
  Page,
  TableCard,
  TextField,
  useAction,
  usePages,
} from '../../kit/index.ts';
import { ScopesField, scopesIn } from './scopes.tsx';

type Extension = components['schemas']['Extension'];

/** Extensions of the tenant: install by manifest, switch on and off, uninstall. */
const Extensions = () => {
  const extensions = usePages(['extensions'], (client, limit) =>
    client.items('/api/v1/tenant/extensions', { params: { query: { limit } } }),
  );
  const columns: Column<Extension>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name, min: 140, grow: 2 },
    { key: 'id', title: 'Id', cell: ({ ext_id }) => <code>{ext_id}</code>, min: 130 },
    { key: 'version', title: 'Version', cell: ({ version }) => version, min: 80, grow: 0 },
    {
      key: 'state',
      title: 'State',
      cell: ({ state }) => <Badge tone={state === 'active' ? 'ok' : 'neutral'}>{state}</Badge>,
      min: 95,
      grow: 0,
    },
    { key: 'scopes', title: 'Scopes', cell: ({ scopes }) => scopes.join(', '), min: 160, grow: 2 },
    ago('changed', 'Changed', ({ updated_at }) => updated_at),
    actions(110, (extension) => <Actions extension={extension} />),
  ];
  return (
    <Page
      title="Extensions"
      about="Programs that are loaded into the tenant and act for the person who uses them, within their scopes."
      actions={
        <DialogButton tone="primary" dialog={(close) => <Install onClose={close} />}>
          <Puzzle size={16} aria-hidden />
          Install
        </DialogButton>
      }
    >
      <TableCard
        label="Extensions"
        rows={extensions}
        rowKey={({ ext_id }) => ext_id}
        columns={columns}
        empty={
          <Empty title="No extensions yet">
            <p>Install one by its manifest. It is inactive until you activate it.</p>
          </Empty>
        }
      />
    </Page>
  );
};

const Actions = ({ extension: { ext_id, name, state } }: { extension: Extension }) => {
  const params = { path: { id: ext_id } };
  const invalidates = [['extensions']] as const;
  const activate = useAction((client) => client.post('/api/v1/tenant/extensions/{id}/activate', { params }), {
    invalidates,
    done: `${name} is active.`,
  });
  const deactivate = useAction(
    (client) => client.post('/api/v1/tenant/extensions/{id}/deactivate', { params }),
    { invalidates, done: `${name} is inactive.` },
  );
  const uninstall = useAction((client) => client.delete('/api/v1/tenant/extensions/{id}', { params }), {
    invalidates,
    done: `${name} is uninstalled.`,
  });
  return (
    <ActionsMenu name={name}>
      {state === 'active' ? (
        <ConfirmItem
          ask={{
            title: `Deactivate ${name}?`,
            consequence: 'Its tokens are refused at once. You can activate it again.',
            action: 'Deactivate',
            run: () => deactivate.mutateAsync(),
          }}
        >
          Deactivate
        </ConfirmItem>
      ) : (
        <MenuItem onSelect={() => activate.mutate()}>Activate</MenuItem>
      )}
      <ConfirmItem
        tone="danger"
        ask={{
          title: `Uninstall ${name}?`,
          consequence:
            'Its tokens are refused at once, and it disappears from the list. Records that it wrote stay.',
          action: 'Uninstall',
          run: () => uninstall.mutateAsync(),
        }}
      >
        Uninstall
      </ConfirmItem>
    </ActionsMenu>
  );
};

const Install = ({ onClose }: { onClose: () => void }) => {
  const install = useAction(
    (client, body: components['schemas']['InstallExtensionBody']) =>
      client.post('/api/v1/tenant/extensions', { body }),
    { invalidates: [['extensions']], done: ({ name }) => `${name} is installed.` },
  );
  return (
    <DialogForm
      title="Install an extension"
      submit="Install"
      onClose={onClose}
      onSubmit={(values) =>
        install.mutateAsync({
          ext_id: values.text('ext_id'),
          name: values.text('name'),
          version: values.text('version'),
          scopes: scopesIn(values.all('scopes')),
          ...values.given('url'),
        })
      }
    >
      <TextField name="name" label="Name" required maxLength={200} />
      <TextField
        name="ext_id"
        label="Id"
        required
        hint="From its manifest: lower-case letters, digits, . _ -"
      />
      <TextField name="version" label="Version" required maxLength={64} />
      <TextField
        name="url"
        label="Address"
        type="url"
        hint="The https address from which it is loaded, if there is one."
      />
      <ScopesField />
    </DialogForm>
  );
};

export default Extensions;
