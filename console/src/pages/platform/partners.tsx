import { Handshake } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  actions,
  ago,
  Button,
  type Column,
  DialogForm,
  Empty,
  Page,
  TableCard,
  TextField,
  useAction,
  usePages,
} from '../../kit/index.ts';

type Partner = components['schemas']['Partner'];

/** The list of partners, with forms to add one and to change its name and home tenant. */
const Partners = () => {
  const [edited, setEdited] = useState<Partner | 'new'>();
  const partners = usePages(['partners'], (client, limit) =>
    client.items('/super/partners', { params: { query: { limit } } }),
  );
  const columns: readonly Column<Partner>[] = [
    { key: 'name', title: 'Name', cell: ({ name }) => name, min: 150, grow: 2 },
    { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code>, min: 120 },
    {
      key: 'home',
      title: 'Own tenant',
      min: 140,
      cell: ({ home_tenant_id: home }) =>
        home === null ? (
          <span className="muted">none</span>
        ) : (
          <Link href={`/platform/tenants/${home}`}>{home}</Link>
        ),
    },
    ago('created', 'Created', ({ created_at }) => created_at),
    actions(90, (partner) => (
      <Button size="small" aria-label={`Change ${partner.name}`} onClick={() => setEdited(partner)}>
        Change
      </Button>
    )),
  ];
  return (
    <Page
      title="Partners"
      about="A partner bills the tenants that are assigned to it. Its people sign in with an assertion of the hosting portal."
      actions={
        <Button tone="primary" onClick={() => setEdited('new')}>
          <Handshake size={16} aria-hidden />
          Add a partner
        </Button>
      }
    >
      <TableCard
        label="Partners"
        rows={partners}
        rowKey={({ id }) => id}
        columns={columns}
        onOpen={setEdited}
        empty={
          <Empty title="No partners yet">
            <p>Add one, then assign it on the page of each of its tenants.</p>
          </Empty>
        }
      />
      {edited === undefined ? null : <Edit partner={edited} onClose={() => setEdited(undefined)} />}
    </Page>
  );
};

const Edit = ({ partner, onClose }: { partner: Partner | 'new'; onClose: () => void }) => {
  const isNew = partner === 'new';
  const save = useAction(
    (client, { id, ...body }: components['schemas']['CreatePartnerBody']) =>
      isNew
        ? client.post('/super/partners', { body: { id, ...body } })
        : client.patch('/super/partners/{id}', { params: { path: { id } }, body }),
    { invalidates: [['partners']], done: ({ name }) => `${name} is saved.` },
  );
  return (
    <DialogForm
      title={isNew ? 'Add a partner' : `Change ${partner.name}`}
      submit={isNew ? 'Add' : 'Save'}
      onClose={onClose}
      onSubmit={(values) =>
        save.mutateAsync({
          id: isNew ? values.text('id') : partner.id,
          name: values.text('name'),
          home_tenant_id: values.optional('home_tenant_id') ?? null,
        })
      }
    >
      <TextField name="name" label="Name" required maxLength={200} defaultValue={isNew ? '' : partner.name} />
      {isNew ? (
        <TextField
          name="id"
          label="Id"
          required
          hint="Lower-case letters, digits, - and _; it cannot be changed."
        />
      ) : null}
      <TextField
        name="home_tenant_id"
        label="Own tenant"
        hint="The id of the partner’s own tenant, whose ledger gets issued invoices; empty for none."
        defaultValue={isNew ? '' : (partner.home_tenant_id ?? '')}
      />
    </DialogForm>
  );
};

export default Partners;
