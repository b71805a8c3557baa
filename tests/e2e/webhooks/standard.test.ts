import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { eventually } from '../../support/server.ts';
import { closeReceivers, type Received, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { addRecord, created, OPEN, paidTenant, plainEntity, subscribe, WEBHOOKS } from './support.ts';

/** Deliveries that the published libraries of Standard Webhooks verify (decision 50). */
describe('Standard Webhooks', () => {
  let world: World;
  let tenant: TestTenant;
  const python = process.env.PYTHON ?? 'python3';
  const hasPython = spawnSync(python, ['-c', 'import standardwebhooks']).status === 0;

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(closeReceivers);
  after(endWorld);

  const headersOf = ({ headers }: Received): Record<string, string> =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

  /** Deliveries before and after a rotation, and the secrets. */
  const rotated = async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    await addRecord(tenant.admin, 'crate', 'Größe 😀');
    const before = await eventually('a delivery', () => receiver.received[0]);
    const { secret } = (await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/rotate-secret`)).as(created);
    await addRecord(tenant.admin, 'crate', 'Größe 😀');
    const after = await eventually('a delivery', () => receiver.received[1]);
    return { former: hook.secret, present: secret, before, after };
  };

  it('are verified by the npm package with the unchanged secret, during a rotation with either', async () => {
    const { former, present, before, after } = await rotated();
    const verify = (secret: string, { body, ...one }: Received, own: Record<string, string> = {}) =>
      new Webhook(secret).verify(body, { ...headersOf({ body, ...one }), ...own });
    expect(verify(former, before)).to.deep.equal(before.envelope);
    expect(verify(former, after)).to.deep.equal(after.envelope);
    expect(verify(present, after)).to.deep.equal(after.envelope);
    expect(after.headers['webhook-signature']).to.match(/^v1,[\w+/]{43}= v1,[\w+/]{43}=$/);
    expect(after.headers['webhook-id']).to.equal(after.envelope.id);
    expect(after.headers['webhook-timestamp']).to.equal(after.headers['x-service-timestamp']);
    expect(() => verify(present, before)).to.throw(WebhookVerificationError);
    expect(() => verify(present, after, { 'webhook-id': 'another' })).to.throw(WebhookVerificationError);
    const changed = { ...after, body: Buffer.concat([after.body, Buffer.from(' ')]) };
    expect(() => verify(present, changed)).to.throw(WebhookVerificationError);
  });

  if (!hasPython) {
    it('are verified by the PyPI package: skipped, it is not installed', function () {
      this.skip();
    });
  } else {
    it('are verified by the PyPI package with the unchanged secret, during a rotation with either', async () => {
      const { former, present, before, after } = await rotated();
      const verified = (secret: string, one: Received): boolean => {
        const input = JSON.stringify({ secret, headers: headersOf(one), body: one.body.toString('utf8') });
        const script = `
import json, sys
from standardwebhooks import Webhook, WebhookVerificationError
given = json.load(sys.stdin)
try:
    print(Webhook(given["secret"]).verify(given["body"].encode(), given["headers"])["id"])
except WebhookVerificationError:
    print("refused")`;
        const said = spawnSync(python, ['-c', script], { input, encoding: 'utf8' });
        expect(said.status, said.stderr).to.equal(0);
        return said.stdout.trim() === one.envelope.id;
      };
      expect(verified(former, before)).to.equal(true);
      expect(verified(former, after)).to.equal(true);
      expect(verified(present, after)).to.equal(true);
      expect(verified(present, before)).to.equal(false);
    });
  }
});
