import { expect } from 'chai';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite } from '../../support/console-suite.ts';
import { startProvider, stopProviders } from '../../support/identity-provider.ts';
import { eventually } from '../../support/server.ts';
import { users } from '../../support/shapes.ts';
import { now } from '../../support/tokens.ts';
import { USERS } from '../../support/world.ts';
import { callbackOf, configure, settings } from '../identity/sso-support.ts';

describe('Single sign-on in the Console', () => {
  const site = consoleSuite(undefined, { end: stopProviders });

  it('signs in, comes back to the page, and renews an ended session in a window of its own', async () => {
    const { world } = site;
    const provider = await startProvider({ redirectUri: callbackOf(world) });
    const tenant = await world.tenant();
    const { base } = world.server;
    await configure(world, tenant, { ...settings(provider), return_origins: [base] });
    provider.next = { sub: 'kim', email: 'kim@corp.example', email_verified: true, name: 'Kim' };

    const page = await site.browser.open('/overview');
    await page.getByRole('tab', { name: 'SSO' }).click();
    await page.getByLabel('Tenant').fill('no_such_tenant');
    await page.getByRole('button', { name: 'Go to the identity provider' }).click();
    await page.getByRole('alert').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByLabel('Tenant').fill(tenant.id);
    await page.getByRole('button', { name: 'Go to the identity provider' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(page.url()).to.equal(`${base}/console/overview`);
    await page.getByText('Live', { exact: true }).waitFor();
    const signedIn = now();

    // A new password ends the person's sessions, except those that began in the same second.
    await eventually('a later second', () => now() > signedIn);
    const people = (await tenant.admin.api.get(USERS)).as(users);
    const kim = people.find(({ email }) => email === 'kim@corp.example')?.id;
    const offer = await tenant.admin.api.post(`${USERS}/${kim}/password-reset`);
    const { url } = offer.as(z.object({ url: z.string() }), 201);
    const [, link] = url.split(/#|link=/);
    site.browser.expect(/WebSocket connection/);
    const reset = await world.anybody.post('/auth/password-reset', {
      link,
      new_password: 'a-long-password-1',
    });
    expect(reset.status).to.equal(204);

    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'Sign in at the identity provider' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
  }).timeout(90_000);
});
