import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { z } from 'zod';
import { impersonate } from '../../support/impersonate.ts';
import { atPresentPace } from '../../support/pace.ts';
import { platformClaims } from '../../support/tokens.ts';
import { uploaded } from '../../support/uploads.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  ASK,
  ask,
  askUntil,
  BACKFILL,
  backfill,
  defineOrders,
  entitledTenant,
  MODEL,
  newOrder,
  refusal,
  sourcesOf,
} from './support.ts';

const ADMIN = z.object({ email: z.string() }).parse(platformClaims()).email;

/** Requests of one tenant that could delay others. */
describe('The assistant under attack', function () {
  this.timeout(300_000);
  let world: World;
  let tenant: TestTenant;
  let other: TestTenant;

  before(async () => {
    world = await startWorld({ env: { ...MODEL, LOG_LEVEL: 'trace' } });
    [tenant, other] = [await entitledTenant(world), await entitledTenant(world)];
    await defineOrders(tenant);
    await defineOrders(other);
  });
  after(endWorld);

  /** Pause between probes: short enough to meet each delay that a person would notice, and too long to add load. */
  const PROBE_MS = 20;

  /** The longest duration (ms) of another tenant's request during the work. */
  const longestWait = async (work: Promise<unknown>): Promise<number> => {
    let longest = 0;
    let done = false;
    const finished = work.finally(() => {
      done = true;
    });
    while (!done) {
      const begun = performance.now();
      expect((await other.admin.api.get('/api/v1/tenant/me')).status).to.equal(200);
      longest = Math.max(longest, performance.now() - begun);
      await setTimeout(PROBE_MS);
    }
    await finished;
    return longest;
  };

  it('stays responsive for files that are slow to process', async () => {
    const { api } = tenant.admin;
    const order = await newOrder(api, { name: 'A place for files' });
    const files = {
      'marks.txt': `a${'\u0301\u0323'.repeat(450_000)} end`,
      'columns.csv': `${'A'.repeat(100_000)},b\n${'1,2\n'.repeat(300_000)}`,
      'constructor.csv': `constructor,__proto__\n${'1,2\n'.repeat(1000)}`,
      'scripts.md': '# Hi <script>alert(1)</script>\n\n[x](javascript:alert(1))\n',
    };
    for (const [filename, content] of Object.entries(files)) {
      const type = filename.endsWith('.csv') ? 'text/csv' : 'text/plain';
      expect(
        await longestWait(uploaded(api, order, content, { filename, type }).then(() => found(filename))),
        filename,
      ).to.be.lessThan(20_000);
    }
    expect((await other.admin.api.get('/health/ready')).status).to.equal(200);
  });

  /** Creates a record of another tenant, and waits until a question finds it. */
  const found = async (filename: string): Promise<void> => {
    const name = `Order after ${filename.replace('.', ' ')}`;
    const { id } = await newOrder(other.admin.api, { name, promise: `It came after ${filename}.` });
    await askUntil(other.admin, name, (answer) => sourcesOf(answer).includes(id));
  };

  it('indexes another tenant’s record while an enormous file is being embedded', async () => {
    const order = await newOrder(tenant.admin.api, { name: 'An enormous file' });
    const lines = Array.from(
      { length: 15_000 },
      (_, n) => `Line ${n} tells of ${n * 7} things, and of ${n % 91}.`,
    );
    await uploaded(tenant.admin.api, order, lines.join('\n'), { filename: 'enormous.txt' });
    const begun = performance.now();
    await found('that');
    expect(performance.now() - begun).to.be.lessThan(30_000);
    const word = await ask(tenant.admin.api, 'Line 44 tells of 308 things');
    expect(sourcesOf(word), 'found by its words meanwhile').not.to.deep.equal([]);
  });

  it('refuses a flood of questions from one tenant, and answers another tenant’s question', async () => {
    const flood = Array.from({ length: 120 }, (_, n) =>
      tenant.admin.api.post(ASK, {
        message: `What is the promise number ${n}? ${'chairs and more '.repeat(200)}`,
      }),
    );
    const meanwhile = await other.admin.api.post(ASK, { message: 'Is anybody there?' });
    expect(meanwhile.status).to.equal(200);
    const statuses = (await Promise.all(flood)).map(({ status }) => status);
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]));
    expect((await tenant.admin.api.post(ASK, { message: 'And now?' })).status).to.equal(200);
  });

  it('is not delayed by characters that normalization expands, or by a long conversation', async () => {
    const { api } = tenant.admin;
    for (const unit of ['\ufdfa', '\u3300', '😀', '\u0301', '漢'])
      expect((await api.post(ASK, { message: unit.repeat(4000) })).status, unit).to.equal(200);
    const marks = '\u0301\u0323'.repeat(100_000);
    const history = [
      { role: 'user', content: `a${marks}` },
      { role: 'assistant', content: '\ud800 broken' },
      { role: 'user', content: 'it '.repeat(100_000) },
    ];
    const wait = await longestWait(
      api.post(ASK, { message: 'and it?', history }).then(({ status }) => expect(status).to.equal(200)),
    );
    expect(wait).to.be.lessThan(await atPresentPace(5000));
  });

  it('accepts every storable question, and refuses other messages and histories', async () => {
    const { api } = tenant.admin;
    for (const message of [' ', '\n\t', '?', '\u200b', '\u202e', '__proto__', 'constructor toString'])
      expect((await api.post(ASK, { message })).status, JSON.stringify(message)).to.equal(200);
    for (const message of ['\ud800', 'a\u0000b', '😀'.repeat(4001), null, ['x'], {}])
      expect(refusal(await api.post(ASK, { message }))).to.deep.equal([400, 'validation_failed']);
    const roles = ['system', 'tool', 'developer', 'User', '', null];
    for (const role of roles) {
      const answer = await api.post(ASK, { message: 'x', history: [{ role, content: 'x' }] });
      expect(refusal(answer)).to.deep.equal([400, 'validation_failed']);
    }
    const elsewhere = await api.post(ASK, { message: 'x', tenant_id: other.id });
    expect(refusal(elsewhere)).to.deep.equal([403, 'tenant_mismatch']);
  });

  it('runs one backfill per Idempotency-Key', async () => {
    const { api } = other.admin;
    const headers = { 'idempotency-key': 'one-backfill' };
    const first = await api.post(BACKFILL, undefined, { headers });
    expect(first.status).to.equal(200);
    await newOrder(api, { name: 'One more' });
    const again = await api.post(BACKFILL, undefined, { headers });
    expect(again.text).to.equal(first.text);
    expect(again.header('idempotency-replayed')).to.equal('true');
    const counts = await backfill(api);
    expect(counts.added + counts.updated).to.be.lessThan(2);
  });

  it('logs the platform admin who asks under impersonation', async () => {
    const acting = await impersonate(world, tenant.id);
    const asked = await acting.api.post(ASK, { message: 'Who is asking?' });
    expect(asked.status).to.equal(200);
    const log = await tenant.admin.api.get('/api/v1/tenant/audit/event-log?limit=5');
    expect(log.text).to.include('assistant_question_asked').and.to.include(ADMIN);
  });

  it('logs no question, answer, passage or conversation at any level', async () => {
    const { api } = tenant.admin;
    const order = await newOrder(api, {
      name: 'Xylograph',
      promise: 'We promised quinquereme rowing lessons.',
    });
    const question = 'Which quinquereme rowing lessons did we promise, palimpsest?';
    await askUntil(tenant.admin, question, (answer) => sourcesOf(answer).includes(order.id));
    await ask(api, question, [{ role: 'user', content: 'And of the obelisk?' }]);
    await api.post(ASK, { message: question.repeat(100), history: 'obelisk' });
    await world.server.stop();
    const written = world.server.output();
    expect(written).to.include('/api/v1/tenant/ai/assistant/ask');
    for (const word of ['quinquereme', 'palimpsest', 'obelisk']) expect(written).not.to.include(word);
  });
});
