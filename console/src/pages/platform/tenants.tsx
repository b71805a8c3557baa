import { Building2 } from 'lucide-react';
import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  ago,
  Badge,
  CheckField,
  type Column,
  DialogButton,
  DialogForm,
  Empty,
  Page,
  SelectField,
  TableCard,
  TextField,
  useAction,
  usePages,
} from '../../kit/index.ts';
import { PLANS, planOf } from './plans.ts';

type Tenant = components['schemas']['Tenant'];

const Tenants = () => {
  const tenants = usePages(['tenants'], (client, limit) =>
    client.items('/super/tenants', { params: { query: { limit } } }),
  );
  const columns: Column<Tenant>[] = [
    {
      key: 'name',
      title: 'Name',
      cell: ({ id, name }) => <Link href={`/platform/tenants/${id}`}>{name}</Link>,
      min: 170,
      grow: 2,
    },
    { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code>, min: 130 },
    { key: 'plan', title: 'Plan', cell: ({ plan }) => plan, min: 100, grow: 0 },
    {
      key: 'status',
      title: 'Status',
      cell: ({ status }) => <Badge tone={status === 'active' ? 'ok' : 'danger'}>{status}</Badge>,
      min: 110,
      grow: 0,
    },
    {
      key: 'entitled',
      title: 'Entitled to',
      cell: ({ entitlements: { ledger, assistant } }) =>
        [ledger ? 'ledger' : '', assistant ? 'assistant' : ''].filter((each) => each !== '').join(', ') ||
        '–',
      min: 130,
    },
    { key: 'partner', title: 'Partner', cell: ({ partner_id }) => partner_id ?? '–', min: 100 },
    ago('created', 'Created', ({ created_at }) => created_at),
  ];
  return (
    <Page
      title="Tenants"
      about="Plans, entitlements, single sign-on and status of each tenant."
      actions={
        <DialogButton tone="primary" dialog={(close) => <AddTenant onClose={close} />}>
          <Building2 size={16} aria-hidden />
          Add a tenant
        </DialogButton>
      }
    >
      <TableCard
        label="Tenants"
        rows={tenants}
        rowKey={({ id }) => id}
        columns={columns}
        to={({ id }) => `/platform/tenants/${id}`}
        empty={<Empty title="No tenants yet" />}
      />
    </Page>
  );
};

const AddTenant = ({ onClose }: { onClose: () => void }) => {
  const add = useAction(
    (client, body: components['schemas']['CreateTenantBody']) => client.post('/super/tenants', { body }),
    { invalidates: [['tenants']], done: ({ name }) => `${name} was added.` },
  );
  return (
    <DialogForm
      title="Add a tenant"
      submit="Add"
      onClose={onClose}
      onSubmit={(values) =>
        add.mutateAsync({
          id: values.text('id'),
          name: values.text('name'),
          plan: planOf(values.text('plan')),
          status: 'active',
          currency: values.text('currency'),
          timezone: values.text('timezone'),
          entitlements: { ledger: values.flag('ledger'), assistant: values.flag('assistant') },
          admin: {
            email: values.text('admin.email'),
            display_name: values.text('admin.display_name'),
            password: values.exact('admin.password'),
          },
        })
      }
    >
      <TextField name="name" label="Name" required maxLength={200} />
      <TextField
        name="id"
        label="Id"
        required
        hint="Lower-case letters, digits and _; it cannot be changed."
      />
      <SelectField name="plan" label="Plan" options={PLANS} />
      <TextField name="currency" label="Currency" required defaultValue="EUR" maxLength={3} />
      <TextField name="timezone" label="Time zone" required defaultValue="UTC" />
      <CheckField name="ledger" label="Ledger" />
      <CheckField name="assistant" label="Assistant" />
      <TextField name="admin.display_name" label="Name of the first admin" required />
      <TextField name="admin.email" label="E-mail of the first admin" type="email" required />
      <TextField
        name="admin.password"
        label="Password of the first admin"
        type="password"
        autoComplete="new-password"
        required
        hint="10 to 200 characters."
      />
    </DialogForm>
  );
};

export default Tenants;
