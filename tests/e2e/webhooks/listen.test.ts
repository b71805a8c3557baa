import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { eventually, OF_CHILDREN } from '../../support/server.ts';
import { closeReceivers, startReceiver, verifies } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { addRecord, OPEN, paidTenant, plainEntity, subscriptions, WEBHOOKS } from './support.ts';

/** `npm run listen` as a developer runs it. */
describe('npm run listen', () => {
  let world: World;
  let tenant: TestTenant;
  let child: ChildProcess | undefined;
  let output = '';

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await closeReceivers();
  });
  after(endWorld);

  const start = (api: string, token: string, ...args: string[]): ChildProcess => {
    output = '';
    const own = spawn(process.execPath, ['api/listen/main.ts', '--api', api, ...args], {
      env: { ...OF_CHILDREN, TOKEN: token },
    });
    for (const stream of [own.stdout, own.stderr]) stream.on('data', (text) => (output += String(text)));
    child = own;
    return own;
  };

  it('shows deliveries, forwards them byte for byte, and leaves no subscription behind', async () => {
    const receiver = await startReceiver((one) => (one.headers['x-service-attempt'] === '1' ? 500 : 204));
    const args = ['--forward', receiver.url, '--events', 'entity.created,entity.deleted'];
    const listening = start(world.server.base, tenant.admin.token, ...args);
    const secret = await eventually(
      'the listener',
      () => /listening at/.test(output) && /whsec_\w+/.exec(output)?.[0],
      30_000,
    );
    await addRecord(tenant.admin, 'crate', 'Größe 😀');
    await eventually('two attempts', () => receiver.received.length === 2, 15_000);
    for (const one of receiver.received) expect(verifies(one, secret)).to.equal(true);
    await eventually('the output', () => /entity\.created \S+ attempt 2 → 204/.test(output));
    expect(output).to.match(/entity\.created \S+ attempt 1 → 500/);
    expect(output).to.contain('"title": "Größe 😀"');
    const url = /listening at (\S+),/.exec(output)?.[1] ?? '';
    expect((await fetch(url, { method: 'POST', body: '{}' })).status, 'unsigned').to.equal(401);
    listening.kill('SIGTERM');
    const [code] = await once(listening, 'exit');
    expect(code, output).to.equal(0);
    expect(output).to.contain('subscription deleted');
    expect((await tenant.admin.api.get(WEBHOOKS)).as(subscriptions)).to.deep.equal([]);
  }).timeout(60_000);

  it('says which settings a server needs when it refuses to call this machine', async () => {
    const closed = await sharedWorld();
    const away = await paidTenant(closed);
    const listening = start(closed.server.base, away.admin.token);
    const [code] = await once(listening, 'exit');
    expect(code).to.equal(1);
    expect(output).to.contain('WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 WEBHOOK_ALLOW_HTTP=1 npm start');
  }).timeout(60_000);

  for (const [args, says] of [
    [['--fowrard', 'http://127.0.0.1:4000'], "Unknown option '--fowrard'"],
    [['--forward', 'localhost'], '--forward must be a URL'],
    [['--port', '70000'], '--port must be a port'],
  ] as const) {
    it(`explains ${args.join(' ')} with its options instead of a stack`, async () => {
      const listening = start(world.server.base, 'none', ...args);
      const [code] = await once(listening, 'exit');
      expect(code).to.equal(2);
      expect(output).to.contain(says).and.contain('--forward <url>').and.not.contain('    at ');
    }).timeout(60_000);
  }

  it('names a server that cannot be reached', async () => {
    const receiver = await startReceiver();
    await closeReceivers();
    const listening = start(receiver.url, 'a-token');
    const [code] = await once(listening, 'exit');
    expect(code).to.equal(1);
    expect(output).to.contain('The server cannot be reached: ');
  }).timeout(60_000);
});
