import { useParams } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  Card,
  CheckField,
  ConfirmButton,
  DialogButton,
  Facts,
  Form,
  Page,
  PendingCard,
  SelectField,
  TextField,
  Time,
  useAction,
  usePageSession,
  useRead,
} from '../../kit/index.ts';
import { EnterTenant } from '../../shell/tenant-switch.tsx';
import { PLANS, planOf } from './plans.ts';

type Tenant = components['schemas']['Tenant'];

const useChange = (id: string, done: string) =>
  useAction(
    (client, body: components['schemas']['ChangeTenantBody']) =>
      client.patch('/super/tenants/{id}', { params: { path: { id } }, body }),
    {
      invalidates: [['tenants'], ['tenant', id]],
      done,
    },
  );

/** One tenant: its plan, entitlements, single sign-on and status, and a button to act in it. */
const TenantPage = () => {
  const { id = '' } = useParams();
  const session = usePageSession();
  const tenant = useRead(['tenant', id], (client, signal) =>
    client.get('/super/tenants/{id}', { params: { path: { id } }, signal }),
  );
  const { data } = tenant;
  return (
    <Page
      title={data?.name ?? id}
      crumbs={[['/platform/tenants', 'Tenants']]}
      actions={
        data === undefined ? undefined : (
          <>
            <StatusButton tenant={data} />
            <DialogButton
              tone="primary"
              disabled={data.status === 'suspended'}
              dialog={(close) =>
                session.kind === 'platform' ? (
                  <EnterTenant platform={session} tenantId={id} onClose={close} />
                ) : null
              }
            >
              Act in this tenant
            </DialogButton>
          </>
        )
      }
    >
      {data === undefined ? (
        <PendingCard of={tenant} what="the tenant" />
      ) : (
        <>
          <Card>
            <Facts
              of={{
                Id: <code>{data.id}</code>,
                Status: <Badge tone={data.status === 'active' ? 'ok' : 'danger'}>{data.status}</Badge>,
                Created: <Time at={data.created_at} />,
              }}
            />
          </Card>
          <div className="columns">
            <Settings tenant={data} />
            <Sso tenant={data} />
          </div>
        </>
      )}
    </Page>
  );
};

const StatusButton = ({ tenant: { id, name, status } }: { tenant: Tenant }) => {
  const change = useChange(id, 'The status was changed.');
  const isActive = status === 'active';
  return (
    <ConfirmButton
      ask={
        isActive
          ? {
              title: `Suspend ${name}?`,
              consequence:
                'Every request of its people and programs is refused at once, and sockets are closed. Nothing is lost, and you can activate it again.',
              action: 'Suspend',
              typed: id,
              run: () => change.mutateAsync({ status: 'suspended' }),
            }
          : {
              title: `Activate ${name}?`,
              consequence: 'Its people and programs can use it again.',
              action: 'Activate',
              tone: 'primary',
              run: () => change.mutateAsync({ status: 'active' }),
            }
      }
    >
      {isActive ? 'Suspend' : 'Activate'}
    </ConfirmButton>
  );
};

const Settings = ({ tenant }: { tenant: Tenant }) => {
  const change = useChange(tenant.id, 'The tenant was changed.');
  return (
    <Card title="Plan and entitlements">
      <Form
        submit="Save"
        onSubmit={(values) =>
          change.mutateAsync({
            name: values.text('name'),
            plan: planOf(values.text('plan')),
            currency: values.text('currency'),
            timezone: values.text('timezone'),
            partner_id: values.optional('partner_id') ?? null,
            entitlements: { ledger: values.flag('ledger'), assistant: values.flag('assistant') },
          })
        }
      >
        <TextField name="name" label="Name" required maxLength={200} defaultValue={tenant.name} />
        {/* The key shows a plan that was changed elsewhere; the other fields follow without one. */}
        <SelectField key={tenant.plan} name="plan" label="Plan" options={PLANS} defaultValue={tenant.plan} />
        <CheckField
          name="ledger"
          label="Ledger"
          hint="Accounts, entries, posting rules and reports. Without it they answer 402."
          defaultChecked={tenant.entitlements.ledger}
        />
        <CheckField
          name="assistant"
          label="Assistant"
          hint="Part of Enterprise; an add-on on Hobby, Pro and Business."
          defaultChecked={tenant.entitlements.assistant}
        />
        <TextField name="currency" label="Currency" required maxLength={3} defaultValue={tenant.currency} />
        <TextField name="timezone" label="Time zone" required defaultValue={tenant.timezone} />
        <TextField
          name="partner_id"
          label="Partner"
          hint="The id of the partner who bills it; empty for none."
          defaultValue={tenant.partner_id ?? ''}
        />
      </Form>
    </Card>
  );
};

const Sso = ({ tenant: { id, name, sso } }: { tenant: Tenant }) => {
  const change = useChange(id, 'Single sign-on was changed.');
  return (
    <Card
      title="Single sign-on"
      actions={
        sso === null ? (
          <Badge>off</Badge>
        ) : (
          <ConfirmButton
            size="small"
            ask={{
              title: `Switch off single sign-on of ${name}?`,
              consequence:
                'People without a password cannot sign in any more. Existing sessions continue until they expire.',
              action: 'Switch off',
              run: () => change.mutateAsync({ sso: null }),
            }}
          >
            Switch off
          </ConfirmButton>
        )
      }
    >
      <Form
        submit={sso === null ? 'Switch on' : 'Save'}
        onSubmit={(values) => {
          const secret = values.optional('sso.client_secret');
          return change.mutateAsync({
            sso: {
              issuer: values.text('sso.issuer'),
              client_id: values.text('sso.client_id'),
              ...(secret === undefined ? {} : { client_secret: secret }),
              return_origins: values
                .text('sso.return_origins')
                .split(/\s+/)
                .filter((origin) => origin !== ''),
            },
          });
        }}
      >
        <TextField
          name="sso.issuer"
          label="Issuer"
          type="url"
          required
          defaultValue={sso?.issuer}
          hint="The address of the OpenID provider."
        />
        <TextField name="sso.client_id" label="Client id" required defaultValue={sso?.client_id} />
        <TextField
          name="sso.client_secret"
          label="Client secret"
          type="password"
          autoComplete="off"
          required={sso === null}
          hint={sso === null ? 'It is not shown again.' : 'Leave it empty to keep the current one.'}
        />
        <TextField
          name="sso.return_origins"
          label="Origins to return to"
          rows={3}
          defaultValue={(sso?.return_origins ?? [location.origin]).join('\n')}
          hint={`One on each line. With ${location.origin} people can sign in to this Console.`}
        />
      </Form>
    </Card>
  );
};

export default TenantPage;
