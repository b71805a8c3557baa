import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { STATE_VIEWS, shownState } from '../../../application/audit/state-views.ts';
import { TimeTravel } from '../../../application/audit/time-travel.ts';
import { changeUser, registerUser, userStream } from '../../../domain/identity/user.ts';
import { causeOf } from '../../support/book.ts';
import { refusalCode, severalTicks } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, startNode } from '../../support/node.ts';

/** Streams of the platform and of partners, which no tenant can request. */
const NOT_TENANTS = [
  ...['tenant', 'admin', 'token_prefix', 'operations', 'partner', 'assertion'],
  ...['profile', 'ratecard', 'invoices'],
];

const ROOT = join(import.meta.dirname, '../../..');

const isDecider = (value: unknown): value is { category: string } =>
  typeof value === 'object' && value !== null && 'category' in value && 'evolve' in value;

describe('The view of states', () => {
  it('exists for every category of tenant streams', async () => {
    const categories = new Set<string>();
    for (const file of globSync(join(ROOT, 'domain/**/*.ts'))) {
      const exported: Record<string, unknown> = await import(file);
      for (const value of Object.values(exported)) if (isDecider(value)) categories.add(value.category);
    }
    expect([...STATE_VIEWS.keys(), ...NOT_TENANTS].sort()).to.deep.equal([...categories].sort());
  });

  const view = STATE_VIEWS.get('user');
  if (view === undefined) throw new Error('no view of users');
  const open = async (sealed: string) => `opened ${sealed}`;

  it('is JSON for any state', async () => {
    const state = {
      someMap: new Map<string, unknown>([['one', new Set([1, 2])]]),
      big: 2n ** 60n,
      none: undefined,
      createdAt: Date.UTC(2026, 0, 1),
      nested: [{ createdAt: 0, email: 'sealed' }],
    };
    const shown = await shownState(state, view, open);
    expect(JSON.parse(JSON.stringify(shown))).to.deep.equal({
      some_map: { one: [1, 2] },
      big: '1152921504606846976',
      created_at: '2026-01-01T00:00:00.000Z',
      nested: [{ created_at: null, email: 'opened sealed' }],
    });
    expect(await shownState(null, view, open)).to.equal(null);
  });

  it('shows when the link for a new password expires, but not its hash', async () => {
    const reset = { secretHash: 'a hash', expiresAt: Date.UTC(2026, 0, 1) };
    expect(await shownState({ reset }, view, open)).to.deep.equal({
      reset: { expires_at: '2026-01-01T00:00:00.000Z' },
    });
  });

  it('leaves out members with credential names at any depth in every category', async () => {
    const named = [
      'password',
      'passwordHash',
      'secret',
      'clientSecret',
      'secretHash',
      'tokenHash',
      'password_hash',
      'digest',
      'tail',
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...STATE_VIEWS.values()), fc.subarray(named), async (each, names) => {
        const credentials = Object.fromEntries(names.map((name) => [name, 'a credential']));
        const state = { id: 'x', ...credentials, inside: [{ ...credentials, more: { ...credentials } }] };
        expect(JSON.stringify(await shownState(state, each, open))).not.to.contain('credential');
      }),
    );
  });

  it('keeps the tenant’s own JSON unchanged, also with credential names', async () => {
    const records = STATE_VIEWS.get('record');
    if (records === undefined) throw new Error('no view of records');
    const values = {
      secretSanta: 'Ann',
      password_hint: 'none',
      createdAt: 5,
      email: 'v1:acme/person-x:AAAA',
    };
    expect(await shownState({ values }, records, open)).to.deep.equal({ values });
  });
});

describe('A past state', () => {
  const story = async () => {
    const clock = testClock();
    const stores = memoryStores();
    const node = startNode({ ...stores, clock });
    const user = { tenantId: 'acme', type: userStream, id: 'ann', cause: causeOf('x') };
    const command = {
      userId: 'ann',
      email: 'ann@x.example',
      displayName: 'Ann 0',
      role: 'admin',
      origin: 'admin',
    } as const;
    await node.commands.execute({
      ...user,
      decide: (state) => registerUser(state, { ...command, passwordHash: '$hash$' }),
    });
    for (let nth = 1; nth < 260; nth += 1) {
      if (nth % 3 === 0) clock.advance(1000);
      await node.commands.execute({
        ...user,
        decide: (state) => changeUser(state, { displayName: `Ann ${nth}`, presentName: '' }, 'root'),
      });
    }
    const log = (await node.events.readAll({ filter: { streamPrefix: 'acme.user-' } })).map((each) =>
      node.codec.decode(each),
    );
    return { node, stores, clock, log };
  };

  it('equals the fold of the events up to each position and time', async () => {
    const { node, log } = await story();
    const travel = new TimeTravel(node);
    let state = userStream.initial;
    const names: (string | undefined)[] = [];
    for (const event of log) {
      // The stream holds only events of users.
      state = userStream.evolve(state, event as Parameters<typeof userStream.evolve>[1], event);
      names.push(state.exists ? await node.keys.open(state.displayName) : undefined);
    }
    for (const nth of [0, 1, 2, 100, 199, 200, 201, 258, 260]) {
      const event = log[nth];
      if (event === undefined) throw new Error('no such event');
      const there = await travel.stateAt('acme', 'acme.user-ann', { position: event.position });
      expect(there).to.deep.include({ revision: nth, position: event.position });
      expect(there.state).to.deep.include({ display_name: names[nth], email: 'ann@x.example', exists: true });
      expect(JSON.stringify(there)).not.to.contain('hash');
      // Includes events at this very instant and none after it.
      const then = await travel.stateAt('acme', 'acme.user-ann', { ms: event.at });
      const last = log.findLastIndex(({ at }) => at <= event.at);
      expect(then.revision).to.equal(last);
      expect(then.state).to.deep.include({ display_name: names[last] });
    }
    expect((await travel.stateAt('acme', 'acme.user-ann', undefined)).revision).to.equal(260);
  });

  it('does not affect the cached state or a snapshot', async () => {
    const { node, stores, log } = await story();
    const early = log[40];
    if (early === undefined) throw new Error('no such event');
    const fresh = startNode(stores);
    const before = JSON.stringify([...stores.snapshots.snapshots]);
    await new TimeTravel(fresh).stateAt('acme', 'acme.user-ann', { position: early.position });
    await severalTicks();
    expect(JSON.stringify([...stores.snapshots.snapshots])).to.equal(before);
    expect(fresh.states.cached('acme.user-ann')).to.equal(undefined);
    const user = await fresh.directory.user('acme', 'ann');
    expect(await node.keys.open(user?.displayName ?? '')).to.equal('Ann 259');
  });

  it('is not found before the first event, for other tenants, or for streams of the platform', async () => {
    const { node, log } = await story();
    const travel = new TimeTravel(node);
    const first = log[0];
    if (first === undefined) throw new Error('no such event');
    const asked: [string, string, Parameters<TimeTravel['stateAt']>[2]][] = [
      ['acme', 'acme.user-ann', { ms: first.at - 1 }],
      ['acme', 'acme.user-bob', undefined],
      ['other', 'acme.user-ann', undefined],
      ['acm', 'acme.user-ann', undefined],
      ['acme', 'user-ann', undefined],
      ['acme', 'acme.user', undefined],
      ['acme', 'acme.', undefined],
      ['acme', '', undefined],
      ['acme', 'acme.nothing-1', undefined],
      ['acme', 'acme.constructor-1', undefined],
      ['acme', 'platform.tenant-acme', undefined],
      ['platform', 'platform.tenant-acme', undefined],
    ];
    for (const [tenantId, stream, at] of asked) {
      expect(await refusalCode(travel.stateAt(tenantId, stream, at)), stream).to.equal('not_found');
    }
  });

  it('is read one at a time per tenant, also after a failure', async () => {
    const { node } = await story();
    const travel = new TimeTravel(node);
    const [head] = await node.events.readAll({ direction: 'backward', limit: 1 });
    if (head === undefined) throw new Error('an empty log');
    const order: string[] = [];
    const at = { tenantId: 'acme', category: 'user', id: 'ann' };
    const read = (name: string) =>
      travel.through(at, head.position, ({ revision }) => {
        if (name === 'failing') throw new Error('no');
        if (revision === 0 || revision === 260) order.push(`${name} ${revision}`);
      });
    const results = await Promise.allSettled(['one', 'failing', 'two'].map(read));
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect(order).to.deep.equal(['one 0', 'one 260', 'two 0', 'two 260']);
  });

  it('yields to other work while a long stream is read', async () => {
    const { node } = await story();
    let ticks = 0;
    let ended = false;
    const count = (): void => {
      ticks += 1;
      if (!ended) setImmediate(count);
    };
    setImmediate(count);
    const at = { tenantId: 'acme', category: 'user', id: 'ann' };
    const [head] = await node.events.readAll({ direction: 'backward', limit: 1 });
    if (head === undefined) throw new Error('an empty log');
    for (let nth = 0; nth < 20; nth += 1)
      await new TimeTravel(node).through(at, head.position, () => undefined);
    ended = true;
    // One yield per page.
    expect(ticks).to.be.at.least(19);
  });
});
