import { useEffect, useState } from 'react';
import { ApiError } from '../../../client/src/index.ts';
import icon from '../icon.svg';
import { Form, TextField } from '../kit/form.tsx';
import { Problem } from '../kit/problem.tsx';
import { Tabs } from '../kit/tabs.tsx';
import { enterPartner, enterPlatform, enterTenant } from './enter.ts';
import { startSso } from './sso.ts';

/** Sign-in of a tenant's people by password or single sign-on, of platform admins and of partners. */
export const SignIn = ({ error }: { error?: unknown }) => {
  useEffect(() => {
    document.title = 'Sign in · Console';
  }, []);
  const tabs = [
    { key: 'tenant', title: 'Password', content: <PasswordForm /> },
    { key: 'sso', title: 'SSO', content: <SsoForm /> },
    { key: 'platform', title: 'Platform', content: <PlatformForm /> },
    { key: 'partner', title: 'Partner', content: <PartnerForm /> },
  ];
  return (
    <div className="sign-in">
      <main>
        <div className="brand">
          <img src={icon} alt="" /> Console
        </div>
        <div className="card">
          <div className="card-body stack">
            <h1>Sign in</h1>
            {error === undefined ? null : <Problem error={error} />}
            <Tabs label="Ways to sign in" tabs={tabs} />
          </div>
        </div>
      </main>
    </div>
  );
};

const PasswordForm = () => {
  // Asked for when the same e-mail and password fit accounts of several tenants.
  const [needsTenant, setNeedsTenant] = useState(false);
  return (
    <Form
      submit="Sign in"
      onSubmit={async (values) => {
        try {
          await enterTenant(values.text('email'), values.exact('password'), values.optional('tenant'));
        } catch (error) {
          if (error instanceof ApiError && error.code === 'tenant_required') setNeedsTenant(true);
          throw error;
        }
      }}
    >
      <TextField name="email" label="E-mail" type="email" required autoComplete="username" />
      <TextField name="password" label="Password" type="password" required autoComplete="current-password" />
      {needsTenant ? (
        <TextField name="tenant" label="Tenant" hint="Your account exists in several tenants." required />
      ) : null}
    </Form>
  );
};

const SsoForm = () => (
  <Form submit="Go to the identity provider" onSubmit={(values) => startSso(values.text('tenant'))}>
    <TextField
      name="tenant"
      label="Tenant"
      required
      autoComplete="organization"
      hint="The short name of your organisation. You come back here when you have signed in there."
    />
  </Form>
);

const PlatformForm = () => (
  <Form submit="Sign in" onSubmit={(values) => enterPlatform(values.text('email'), values.exact('password'))}>
    <TextField name="email" label="E-mail" type="email" required autoComplete="username" />
    <TextField name="password" label="Password" type="password" required autoComplete="current-password" />
  </Form>
);

const PartnerForm = () => (
  <Form submit="Sign in" onSubmit={(values) => enterPartner(values.text('assertion'))}>
    <TextField
      name="assertion"
      label="Assertion"
      required
      autoComplete="off"
      rows={4}
      hint="The hosting portal issues it, and it is valid for five minutes. The portal can also open /console/partner#assertion=…"
    />
  </Form>
);
