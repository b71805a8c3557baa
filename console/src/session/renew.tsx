import { useEffect, useRef, useState } from 'react';
import { Button } from '../kit/button.tsx';
import { Dialog } from '../kit/dialog.tsx';
import { Form, TextField } from '../kit/form.tsx';
import { Problem } from '../kit/problem.tsx';
import { enterPartner, enterPlatform, enterTenant, impersonate } from './enter.ts';
import { renewBySso } from './sso.ts';
import { type Session, signIn, signOut, type TenantSession, tenantSession } from './store.ts';
import { useSessions } from './use-sessions.ts';

/** Asks for a new sign-in over the page when a session has ended: input is kept, and waiting requests continue. */
export const RenewDialog = () => {
  const { ended } = useSessions();
  return ended === undefined ? null : <Renew key={ended.kind} session={ended} />;
};

const Renew = ({ session }: { session: Session }) => (
  <Dialog title="Your session has ended">
    <div className="stack">
      <p className="muted">
        Sign in again as <strong>{session.email}</strong> to continue where you are. Nothing on the page is
        lost.
      </p>
      <Ways session={session} />
    </div>
  </Dialog>
);

const Ways = ({ session }: { session: Session }) => {
  const leave = (): void => signOut(session.kind);
  switch (session.kind) {
    case 'tenant':
      if (session.via === 'sso') return <RenewSso session={session} />;
      if (session.via === 'impersonation') return <RenewImpersonation session={session} />;
      return (
        <RenewPassword
          enter={(password) => enterTenant(session.email, password, session.tenantId)}
          leave={leave}
        />
      );
    case 'platform':
      return <RenewPassword enter={(password) => enterPlatform(session.email, password)} leave={leave} />;
    case 'partner':
      return (
        <Form
          submit="Sign in"
          onSubmit={(values) => enterPartner(values.text('assertion'))}
          onCancel={leave}
          cancel="Sign out"
        >
          <TextField name="assertion" label="Assertion of the hosting portal" rows={4} required />
        </Form>
      );
    default:
      return session satisfies never;
  }
};

interface RenewPasswordProps {
  readonly enter: (password: string) => Promise<void>;
  readonly leave: () => void;
}

const RenewPassword = ({ enter, leave }: RenewPasswordProps) => (
  <Form
    submit="Sign in"
    onSubmit={(values) => enter(values.exact('password'))}
    onCancel={leave}
    cancel="Sign out"
  >
    <TextField
      name="password"
      label="Password"
      type="password"
      required
      autoComplete="current-password"
      autoFocus
    />
  </Form>
);

const RenewSso = ({ session }: { session: TenantSession }) => {
  const [error, setError] = useState<unknown>();
  const ending = useRef(new AbortController());
  useEffect(() => {
    const { current } = ending;
    return () => current.abort();
  }, []);
  const renew = async (): Promise<void> => {
    setError(undefined);
    try {
      signIn(tenantSession(await renewBySso(session.tenantId, ending.current.signal), 'sso'));
    } catch (reason) {
      setError(reason);
    }
  };
  return (
    <div className="form">
      {error === undefined ? null : <Problem error={error} />}
      <div className="form-end">
        <Button onClick={() => signOut('tenant')}>Sign out</Button>
        <Button tone="primary" onClick={() => void renew()}>
          Sign in at the identity provider
        </Button>
      </div>
    </div>
  );
};

/** An impersonation lasts an hour; the platform admin's own session can begin another one. */
const RenewImpersonation = ({ session }: { session: TenantSession }) => {
  const { platform } = useSessions();
  return (
    <Form
      submit="Continue for another hour"
      onSubmit={async (values) => {
        if (platform === undefined) return signOut('tenant');
        const body = { user_id: session.userId, reason: values.text('reason') };
        signIn(await impersonate(platform, session.tenantId, body));
      }}
      onCancel={() => signOut('tenant')}
      cancel="Leave the tenant"
    >
      <TextField name="reason" label="Reason" hint="Kept in the tenant’s activity log." required autoFocus />
    </Form>
  );
};
