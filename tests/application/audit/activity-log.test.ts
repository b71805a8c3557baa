import { expect } from 'chai';
import { ActivityLog, type LogLine, snakeCase, subjectOf } from '../../../application/audit/activity-log.ts';
import type { Actor } from '../../../application/core/events/event-codec.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import { impersonationStream, logRequest } from '../../../domain/identity/impersonation.ts';
import { platformAdminStream, registerPlatformAdmin } from '../../../domain/identity/platform-admin.ts';
import { registerUser, userStream } from '../../../domain/identity/user.ts';
import { operationsStream, requestRetry } from '../../../domain/operations/operations.ts';
import { event } from '../../contract/event-store-parts/helpers.ts';
import { startNode, type TestNode } from '../../support/node.ts';

const types = catalogue.map(({ type }) => type);
const system: Actor = { kind: 'system', id: 'test' };
const cause = (actor: Actor = system, impersonatedBy?: string) => ({
  actor,
  impersonatedBy,
  correlationId: 'request-1',
  causationId: 'c',
});

const logOf = (node: TestNode, events: EventStore = node.events) =>
  new ActivityLog({ events, directory: node.directory, types });

const register = (node: TestNode, tenantId: string, id: string) =>
  node.commands.execute({
    tenantId,
    type: userStream,
    id,
    cause: cause(),
    decide: (state) =>
      registerUser(state, {
        userId: id,
        email: `${id}@example.com`,
        displayName: id,
        role: 'admin',
        origin: 'admin',
      }),
  });

/** Appends one event to the tenant’s stream of operations. */
const happen = (node: TestNode, tenantId: string, actor: Actor, impersonatedBy?: string) =>
  node.commands.execute({
    tenantId,
    type: operationsStream,
    id: 'x',
    cause: cause(actor, impersonatedBy),
    decide: () => requestRetry('p', tenantId),
  });

const first = (log: ActivityLog, tenantId = 'acme') => log.page(tenantId, { limit: 1, before: undefined });

const all = async (log: ActivityLog, tenantId: string, limit: number) => {
  const lines: LogLine[] = [];
  let before: Position | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await log.page(tenantId, { limit, before });
    lines.push(...page.lines);
    if (page.next === undefined) return { lines, pages };
    before = page.next;
  }
};

describe('the event log', () => {
  it('shows the current e-mail of the actor or of the extension’s person, and none for an API token', async () => {
    const node = startNode();
    await register(node, 'acme', 'ann');
    await node.commands.execute({
      tenantId: 'platform',
      type: platformAdminStream,
      id: 'root',
      cause: cause(),
      decide: (state) =>
        registerPlatformAdmin(state, {
          admin_id: 'root',
          email: 'root@platform.example',
          password_hash: 'h',
        }),
    });
    for (const [actor, impersonator, email] of [
      [{ kind: 'user', id: 'ann' }, undefined, 'ann@example.com'],
      [{ kind: 'extension', id: 'ext', user_id: 'ann' }, undefined, 'ann@example.com'],
      [{ kind: 'api_token', id: 'ann' }, undefined, ''],
      [{ kind: 'system', id: 'ann' }, undefined, ''],
      [{ kind: 'public', id: '' }, undefined, ''],
      [{ kind: 'partner', id: 'ann' }, undefined, ''],
      [{ kind: 'platform_admin', id: 'root' }, 'old@platform.example', 'root@platform.example'],
      [{ kind: 'platform_admin', id: 'tool' }, 'tool@platform.example', 'tool@platform.example'],
      [{ kind: 'platform_admin', id: 'tool' }, undefined, ''],
    ] as const) {
      await happen(node, 'acme', actor, impersonator);
      const [line] = (await first(logOf(node))).lines;
      expect(line?.actor, JSON.stringify(actor)).to.deep.equal({ kind: actor.kind, id: actor.id, email });
      expect(line?.impersonated_by).to.equal(impersonator);
    }
    await happen(node, 'acme', { kind: 'user', id: 'ann' });
    await node.keys.destroy('acme/person-ann');
    expect((await first(logOf(node))).lines[0]?.actor.email).to.equal('[erased]');
  });

  it('names a read by its operation and the subject of its path', async () => {
    const node = startNode();
    for (const [params, subject] of [
      [
        { id: 'c1', mid: 'm1' },
        { kind: 'message', id: 'm1' },
      ],
      [{ id: 'c1' }, { kind: 'conversation', id: 'c1' }],
      [{}, { kind: 'request', id: 'request-1' }],
    ] as const) {
      const note = { method: 'GET', route: '/conversations/:id/messages/:mid', status: 200, params };
      await node.commands.execute({
        tenantId: 'acme',
        type: impersonationStream,
        id: 'ann-2026-01-01',
        cause: cause({ kind: 'user', id: 'ann' }, 'root@platform.example'),
        decide: () => logRequest({ ...note, operationId: 'getMessage' }),
      });
      const [line] = (await first(logOf(node))).lines;
      expect(line).to.deep.include({ action: 'get_message', subject, request_id: 'request-1' });
    }
  });

  it('reads an event that this build does not know', async () => {
    const node = startNode();
    await happen(node, 'acme', system);
    const [known] = await node.events.readAll();
    if (known === undefined) throw new Error('nothing happened');
    await node.events.append('acme.newer-1', 'no_stream', [
      { ...event('SomethingNewer', '{"x":1}', known.metadata) },
    ]);
    expect((await first(logOf(node))).lines[0]).to.deep.include({
      action: 'something_newer',
      subject: { kind: 'newer', id: '1' },
    });
  });

  it('does bounded work per page, and finds a small tenant’s lines among many events of other tenants', async () => {
    const node = startNode();
    await happen(node, 'acme', system);
    for (let n = 0; n < 120; n += 1) {
      const others = Array.from({ length: 500 }, () => event('Foreign'));
      await node.events.append(`acme_2.busy-${n}`, 'no_stream', others);
      if (n === 60) await happen(node, 'acme', system);
    }
    let scanned = 0;
    const counting: EventStore = {
      ...node.events,
      scanAll: async (options, maxScanned) => {
        const page = await node.events.scanAll(options, maxScanned);
        scanned += page.scanned;
        return page;
      },
    };
    const log = logOf(node, counting);
    const page = await log.page('acme', { limit: 50, before: undefined });
    expect(scanned).to.be.within(40_000, 50_000);
    expect(page.lines).to.have.length(1);
    expect(page.next).to.be.a('string');
    const { lines, pages } = await all(log, 'acme', 50);
    expect([lines.length, pages]).to.deep.equal([2, 2]);
  }).timeout(10_000);

  it('does bounded work for a filter that selects almost nothing', async () => {
    const node = startNode();
    await happen(node, 'acme', { kind: 'user', id: 'first' });
    const [known] = await node.events.readAll();
    if (known === undefined) throw new Error('nothing happened');
    const metadata = known.metadata.replace('"first"', '"other"');
    for (let n = 0; n < 13; n += 1) {
      const own = Array.from({ length: 500 }, () => event('ProjectionRetryRequested', '{}', metadata));
      await node.events.append(`acme.busy-${n}`, 'no_stream', own);
    }
    const query = { limit: 200, actor: 'first' };
    const page = await logOf(node).page('acme', { ...query, before: undefined });
    expect(page.lines).to.deep.equal([]);
    const next = await logOf(node).page('acme', { ...query, before: page.next });
    expect(next.lines.map(({ actor }) => actor.id)).to.deep.equal(['first']);
    expect(next.next).to.equal(undefined);
  });

  it('ends well before `from`, though a clock may have been wrong for a while', async () => {
    const node = startNode();
    await happen(node, 'acme', system);
    const [known] = await node.events.readAll();
    if (known === undefined) throw new Error('nothing happened');
    const append = (stream: string, at: string, count: number) => {
      const metadata = known.metadata.replace(/"occurred_at":"[^"]*"/, `"occurred_at":"${at}"`);
      const own = Array.from({ length: count }, () => event('ProjectionRetryRequested', '{}', metadata));
      return node.events.append(`acme.${stream}`, 'no_stream', own);
    };
    for (let n = 0; n < 8; n += 1) await append(`old-${n}`, '2026-01-31T00:00:00.000Z', 500);
    await append('before-1', '2026-02-01T11:59:59.999Z', 1500);
    await append('late-1', '2026-02-01T12:00:00.000Z', 3);
    await append('wrong-1', '1970-01-01T00:00:00.000Z', 999);
    await append('late-2', '2026-02-02T00:00:00.000Z', 2);
    const query = { limit: 200, from: '2026-02-01T12:00:00.000Z', before: undefined };
    const page = await logOf(node).page('acme', query);
    expect(page.lines.map(({ subject }) => subject.id)).to.deep.equal(['2', '2', '1', '1', '1']);
    expect(page.next).to.equal(undefined);
    const all = await logOf(node).page('acme', { limit: 200, before: undefined });
    expect(all.next).to.be.a('string');
  });
});

describe('names in the event log', () => {
  for (const [name, wanted] of [
    ['MessageSent', 'message_sent'],
    ['ApiTestTokenGenerated', 'api_test_token_generated'],
    ['listUsers', 'list_users'],
    ['me', 'me'],
    ['getTrialBalance', 'get_trial_balance'],
    ['exportErrorsCSV', 'export_errors_csv'],
    ['getCSVExport', 'get_csv_export'],
  ] as const) {
    it(`turn ${name} into ${wanted}`, () => expect(snakeCase(name)).to.equal(wanted));
  }

  for (const [path, params, subject] of [
    ['/api/v1/tenant/users/:id', { id: 'u' }, { kind: 'user', id: 'u' }],
    ['/gl/entries/:id/post', { id: 'e' }, { kind: 'entry', id: 'e' }],
    ['/api-tokens/:id', { id: 't' }, { kind: 'api_token', id: 't' }],
    ['/entities/:name/records/:id/files', { name: 'deal', id: 'r' }, { kind: 'record', id: 'r' }],
    ['/entities/:name/records/:id', { name: 'deal' }, { kind: 'entity', id: 'deal' }],
    ['/users', {}, undefined],
    ['/users/:id', {}, undefined],
  ] as const) {
    it(`turn ${path} with ${JSON.stringify(params)} into ${JSON.stringify(subject) ?? 'nothing'}`, () => {
      expect(subjectOf(path, params)).to.deep.equal(subject);
    });
  }
});
