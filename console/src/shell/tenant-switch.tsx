import { Building2 } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { components } from '../../../client/src/index.ts';
import { Button } from '../kit/button.tsx';
import { PageSessionProvider } from '../kit/client.tsx';
import { actions } from '../kit/columns.tsx';
import { DataTable } from '../kit/data-table.tsx';
import { Dialog, DialogButton } from '../kit/dialog.tsx';
import { Form, TextField } from '../kit/form.tsx';
import { usePages } from '../kit/reads.ts';
import { impersonate } from '../session/enter.ts';
import { type PlatformSession, signIn, signOut } from '../session/store.ts';
import { useSessions } from '../session/use-sessions.ts';

type Tenant = components['schemas']['Tenant'];

/** Lets a platform admin act in a tenant, as the tenant's oldest admin. */
export const TenantSwitch = ({ platform }: { platform: PlatformSession }) => {
  const { tenant } = useSessions();
  return (
    <DialogButton
      tone="ghost"
      dialog={(close) => (
        <PageSessionProvider value={platform}>
          <ChooseTenant platform={platform} onClose={close} />
        </PageSessionProvider>
      )}
    >
      <Building2 size={16} aria-hidden />
      <span className="truncate">{tenant?.tenantId ?? 'Open a tenant'}</span>
    </DialogButton>
  );
};

const ChooseTenant = ({ platform, onClose }: { platform: PlatformSession; onClose: () => void }) => {
  const [chosen, setChosen] = useState<string>();
  const tenants = usePages(['tenants'], (client, limit) =>
    client.items('/super/tenants', { params: { query: { limit } } }),
  );
  if (chosen !== undefined) {
    return <EnterTenant platform={platform} tenantId={chosen} onClose={onClose} />;
  }
  return (
    <Dialog title="Open a tenant" size="wide" onClose={onClose}>
      <DataTable
        label="Tenants"
        rows={tenants}
        rowKey={({ id }) => id}
        onOpen={({ id }) => setChosen(id)}
        columns={[
          { key: 'name', title: 'Name', cell: ({ name }) => name, min: 130 },
          { key: 'id', title: 'Id', cell: ({ id }) => <code>{id}</code>, min: 100 },
          actions(80, ({ id, name, status }: Tenant) => (
            <Button
              size="small"
              disabled={status === 'suspended'}
              aria-label={`Open ${name}`}
              onClick={() => setChosen(id)}
            >
              {status === 'suspended' ? 'Suspended' : 'Open'}
            </Button>
          )),
        ]}
      />
    </Dialog>
  );
};

interface EnterProps {
  readonly platform: PlatformSession;
  readonly tenantId: string;
  readonly onClose: () => void;
}

/** Asks for a reason, which the tenant's activity log keeps, and begins the impersonation. */
export const EnterTenant = ({ platform, tenantId, onClose }: EnterProps) => {
  const [, navigate] = useLocation();
  return (
    <Dialog title={`Act in ${tenantId}`} onClose={onClose}>
      <Form
        submit="Open the tenant"
        onCancel={onClose}
        onSubmit={async (values) => {
          const reason = values.optional('reason');
          const session = await impersonate(platform, tenantId, reason === undefined ? {} : { reason });
          signOut('tenant');
          signIn(session);
          onClose();
          navigate('/');
        }}
      >
        <p>
          You act as the tenant’s oldest admin for one hour. Every request, also a read, is recorded in the
          tenant’s activity log with your e-mail.
        </p>
        <TextField name="reason" label="Reason" hint="Kept in that log, for the tenant to read." autoFocus />
      </Form>
    </Dialog>
  );
};
