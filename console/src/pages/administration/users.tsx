import { UserPlus } from 'lucide-react';
import { useState } from 'react';
import type { components } from '../../../../client/src/index.ts';
import {
  ActionsMenu,
  actions,
  Badge,
  type Column,
  ConfirmItem,
  Dialog,
  DialogButton,
  DialogForm,
  Empty,
  MenuItem,
  Page,
  Secret,
  SelectField,
  TableCard,
  TextField,
  Time,
  useAction,
  usePages,
  useTenant,
} from '../../kit/index.ts';

type User = components['schemas']['User'];

const ROLES = [
  ['operator', 'Operator: works with records, jobs, messages'],
  ['admin', 'Admin: also changes settings, people and schemas'],
] as const;

const roleOf = (text: string): User['role'] => (text === 'admin' ? 'admin' : 'operator');

/** The people of the tenant: add, change, deactivate, forget. */
const Users = () => {
  const [edited, setEdited] = useState<User>();
  const [link, setLink] = useState<string>();
  const users = usePages(['users'], (client, limit) =>
    client.items('/api/v1/tenant/users', { params: { query: { limit } } }),
  );
  const columns: Column<User>[] = [
    { key: 'name', title: 'Name', cell: ({ display_name }) => display_name, min: 150, grow: 2 },
    { key: 'email', title: 'E-mail', cell: ({ email }) => email, min: 200, grow: 2 },
    {
      key: 'role',
      title: 'Role',
      cell: ({ role }) => <Badge tone={role === 'admin' ? 'info' : 'neutral'}>{role}</Badge>,
      min: 100,
      grow: 0,
    },
    {
      key: 'status',
      title: 'Status',
      cell: ({ status }) => <Badge tone={status === 'active' ? 'ok' : 'warn'}>{status}</Badge>,
      min: 115,
      grow: 0,
    },
    { key: 'created', title: 'Added', cell: ({ created_at }) => <Time at={created_at} relative />, min: 110 },
    actions(110, (user) => <UserActions user={user} onEdit={() => setEdited(user)} onLink={setLink} />),
  ];
  return (
    <Page
      title="Users"
      about="The people of the tenant. Those without a password sign in by single sign-on."
      actions={
        <DialogButton tone="primary" dialog={(close) => <AddUser onClose={close} />}>
          <UserPlus size={16} aria-hidden />
          Add a person
        </DialogButton>
      }
    >
      <TableCard
        label="Users"
        rows={users}
        rowKey={({ id }) => id}
        columns={columns}
        onOpen={setEdited}
        empty={<Empty title="No users yet" />}
      />
      {edited === undefined ? null : <EditUser user={edited} onClose={() => setEdited(undefined)} />}
      {link === undefined ? null : (
        <Dialog title="A link for a new password" onClose={() => setLink(undefined)}>
          <Secret text={link} name="the link" />
        </Dialog>
      )}
    </Page>
  );
};

interface ActionsProps {
  readonly user: User;
  readonly onEdit: () => void;
  readonly onLink: (link: string) => void;
}

const UserActions = ({ user, onEdit, onLink }: ActionsProps) => {
  const self = useTenant()?.userId;
  const path = { path: { id: user.id } };
  const invalidates = [['users']] as const;
  const setStatus = useAction(
    (client, status: User['status']) =>
      client.patch('/api/v1/tenant/users/{id}', { params: path, body: { status } }),
    { invalidates, done: 'The account was changed.' },
  );
  const forget = useAction((client) => client.post('/api/v1/tenant/users/{id}/forget', { params: path }), {
    invalidates,
    done: 'The person was erased.',
  });
  const reset = useAction((client) =>
    client.post('/api/v1/tenant/users/{id}/password-reset', { params: path }),
  );
  const name = user.display_name;
  return (
    <ActionsMenu name={name}>
      <MenuItem onSelect={onEdit}>Change name or role</MenuItem>
      <ConfirmItem
        ask={{
          title: `Make a link for a new password of ${name}?`,
          consequence:
            'The link can be used once. An earlier link stops working. Sessions end when the password is set.',
          action: 'Make the link',
          tone: 'primary',
          run: async () => {
            const { url } = await reset.mutateAsync();
            if (url !== undefined) onLink(url);
          },
        }}
      >
        Link for a new password
      </ConfirmItem>
      {self === user.id ? null : (
        <>
          {user.status === 'active' ? (
            <ConfirmItem
              tone="danger"
              ask={{
                title: `Deactivate ${name}?`,
                consequence:
                  'Sessions end at once, and the person cannot sign in. What the person did stays. You can activate the account again.',
                action: 'Deactivate',
                run: () => setStatus.mutateAsync('deactivated'),
              }}
            >
              Deactivate
            </ConfirmItem>
          ) : (
            <MenuItem onSelect={() => setStatus.mutate('active')}>Activate</MenuItem>
          )}
          <ConfirmItem
            tone="danger"
            ask={{
              title: `Forget ${name}?`,
              consequence: `Name and e-mail are erased everywhere, also from the log and from backups that are restored. The account is deactivated. This cannot be undone.`,
              action: 'Erase permanently',
              typed: user.email,
              run: () => forget.mutateAsync(),
            }}
          >
            Erase permanently
          </ConfirmItem>
        </>
      )}
    </ActionsMenu>
  );
};

const AddUser = ({ onClose }: { onClose: () => void }) => {
  const add = useAction(
    (client, body: components['schemas']['CreateUserBody']) => client.post('/api/v1/tenant/users', { body }),
    { invalidates: [['users']], done: ({ display_name }) => `${display_name} was added.` },
  );
  return (
    <DialogForm
      title="Add a person"
      submit="Add"
      onClose={onClose}
      onSubmit={async (values) => {
        const password = values.exact('password');
        await add.mutateAsync({
          email: values.text('email'),
          display_name: values.text('display_name'),
          role: roleOf(values.text('role')),
          ...(password === '' ? {} : { password }),
        });
      }}
    >
      <TextField name="display_name" label="Name" required maxLength={200} />
      <TextField name="email" label="E-mail" type="email" required />
      <SelectField name="role" label="Role" options={ROLES} />
      <TextField
        name="password"
        label="Password"
        type="password"
        autoComplete="new-password"
        hint="10 to 200 characters. Leave it empty for single sign-on."
      />
    </DialogForm>
  );
};

const EditUser = ({ user, onClose }: { user: User; onClose: () => void }) => {
  const change = useAction(
    (client, body: components['schemas']['ChangeUserBody']) =>
      client.patch('/api/v1/tenant/users/{id}', { params: { path: { id: user.id } }, body }),
    { invalidates: [['users']], done: 'The account was changed.' },
  );
  return (
    <DialogForm
      title={user.email}
      submit="Save"
      onClose={onClose}
      onSubmit={(values) =>
        change.mutateAsync({
          display_name: values.text('display_name'),
          role: roleOf(values.text('role')),
        })
      }
    >
      <TextField name="display_name" label="Name" required defaultValue={user.display_name} />
      <SelectField name="role" label="Role" options={ROLES} defaultValue={user.role} />
    </DialogForm>
  );
};

export default Users;
