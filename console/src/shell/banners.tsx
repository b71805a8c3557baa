import { Button } from '../kit/button.tsx';
import { Time } from '../kit/time.tsx';
import { signOut, type TenantSession } from '../session/store.ts';

/** Banner on every page during an impersonation. */
export const ImpersonationBanner = ({ tenant }: { tenant: TenantSession }) =>
  tenant.impersonatedBy === undefined ? null : (
    <aside className="banner" aria-label="Impersonation">
      <span>
        You are <strong>{tenant.impersonatedBy}</strong> and act as <strong>{tenant.email}</strong> in{' '}
        <strong>{tenant.tenantId}</strong>, until <Time at={new Date(tenant.expiresAt).toISOString()} />.
        Every request is recorded.
      </span>
      <Button size="small" onClick={() => signOut('tenant')}>
        Leave the tenant
      </Button>
    </aside>
  );
