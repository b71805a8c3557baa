import { expect } from 'chai';
import type { ApiTokenPrincipal } from '../../../application/core/commands/principal.ts';
import { StreamStates } from '../../../application/core/commands/stream-states.ts';
import { LiveFeed } from '../../../application/core/subscriptions/live-feed.ts';
import { ApiTokenAuthentication, tailHash } from '../../../application/identity/api-token-authentication.ts';
import { ApiTokens } from '../../../application/identity/api-tokens.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import type { SnapshotStore } from '../../../application/ports/snapshot-store.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import type { Lifetime } from '../../../domain/identity/api-token.ts';
import { changeTenant, createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { causeOf } from '../../support/book.ts';
import { refusalCode, untilPasses } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, startNode } from '../../support/node.ts';

const DAY = 86_400_000;

/** Stores that count reads. */
const counted = () => {
  const stores = memoryStores();
  let reads = 0;
  const count =
    <A extends readonly unknown[], R>(read: (...args: A) => R) =>
    (...args: A): R => {
      reads += 1;
      return read(...args);
    };
  const events: EventStore = {
    ...stores.events,
    readStream: count(stores.events.readStream),
    readAll: count(stores.events.readAll),
  };
  const snapshots: SnapshotStore = { ...stores.snapshots, get: count(stores.snapshots.get) };
  return { stores: { ...stores, events, snapshots }, reads: () => reads };
};

/** Two tenants on one node; minted tokens use the given prefixes in turn and numbered tails. */
const world = async (prefixes: readonly string[] = []) => {
  const { stores, reads } = counted();
  const clock = testClock();
  const node = startNode({ ...stores, clock });
  let made = 0;
  const secrets = {
    prefix: () => prefixes[made] ?? `prefix${String(made).padStart(2, '0')}`,
    randomText: () => {
      made += 1;
      return String(made).padStart(43, 'T');
    },
  };
  const apiTokens = new ApiTokens({ streams: node.streams, secrets, tenantTokens: { sign: () => 'unused' } });
  const used: string[] = [];
  const authentication = (other: ReturnType<typeof startNode>) =>
    new ApiTokenAuthentication({ ...other, uses: { note: (_tenant, id) => used.push(id) } });
  const tenant = async (id: string, status?: 'suspended' | 'active') => {
    await node.commands.execute({
      tenantId: PLATFORM,
      type: tenantStream,
      id,
      cause: causeOf(node.ids.next()),
      decide: (state) =>
        status === undefined
          ? createTenant(state, {
              tenantId: id,
              name: id,
              plan: 'free',
              partner_id: null,
              entitlements: { ledger: false, assistant: false },
              currency: 'EUR',
              timezone: 'UTC',
            })
          : changeTenant(state, { status }),
    });
  };
  await tenant('acme');
  await tenant('globex');
  const context = () => ({
    cause: causeOf(node.ids.next()),
    priorAttempt: undefined,
    newId: () => node.ids.next(),
  });
  const mint = async (tenantId = 'acme', lifetime: Lifetime = '30d') => {
    const { token, secret } = await apiTokens.mint(
      tenantId,
      { name: 'n', scopes: ['data:read'], lifetime, createdBy: 'ann' },
      context(),
    );
    if (secret === undefined) throw new Error('no secret');
    return { id: token.id, secret, token };
  };
  const auth = authentication(node);
  const check = (secret: string): Promise<ApiTokenPrincipal> => auth.authenticate(secret);
  const refused = (secret: string) => refusalCode(check(secret));
  return {
    ...{ stores, reads, clock, node, apiTokens, authentication, auth, tenant, context, mint, used },
    ...{ check, refused },
  };
};

describe('API tokens', () => {
  it('are recognised by their parts, and only their hash is stored', async () => {
    const { mint, check, stores } = await world();
    const { id, secret } = await mint();
    expect(await check(secret)).to.deep.equal({
      kind: 'api_token',
      tenantId: 'acme',
      rights: { plan: 'free', entitlements: { ledger: false, assistant: false } },
      tokenId: id,
      scopes: ['data:read'],
    });
    const log = JSON.stringify(await stores.events.readAll());
    const tail = secret.slice(16);
    expect(log).not.to.contain(tail);
    expect(log).to.contain(tailHash(tail));
  });

  it('are checked without a store read once verified', async () => {
    const { mint, check, auth, reads } = await world();
    const { secret } = await mint();
    await check(secret);
    const before = reads();
    for (let i = 0; i < 1000; i += 1) await auth.authenticate(secret);
    expect(reads()).to.equal(before);
  });

  it('that have the same prefix each open their own tenant', async () => {
    const { mint, check, refused } = await world(['samePref', 'samePref', 'samePref']);
    const [one, two, three] = [await mint('acme'), await mint('globex'), await mint('acme')];
    for (const [minted, tenantId] of [
      [one, 'acme'],
      [two, 'globex'],
      [three, 'acme'],
    ] as const) {
      expect(await check(minted.secret)).to.include({ tenantId, tokenId: minted.id });
    }
    expect(await refused(`svc_pat_samePref${'x'.repeat(43)}`)).to.equal('invalid_credential');
  });

  it('are refused with another spelling or a changed character, and when their hash is sent instead', async () => {
    const { mint, check, refused, used } = await world();
    const { secret } = await mint();
    const wrong = [
      ...Array.from(secret, (character, at) => {
        const other = character === 'x' ? 'y' : 'x';
        return `${secret.slice(0, at)}${other}${secret.slice(at + 1)}`;
      }),
      `${secret}=`,
      `${secret} `,
      `${secret}\n`,
      ` ${secret}`,
      `${secret}0`,
      secret.slice(0, -1),
      secret.toLowerCase(),
      secret.toUpperCase(),
      `${secret.slice(0, 16)}${tailHash(secret.slice(16)).slice(0, 43)}`,
      'svc_pat_',
      'x'.repeat(100_000),
    ];
    for (const text of wrong) {
      if (text.startsWith('svc_pat_')) expect(await refused(text), text).to.equal('invalid_credential');
    }
    expect(used).to.deep.equal([]);
    await check(secret);
    for (const text of wrong) {
      if (text.startsWith('svc_pat_')) expect(await refused(text), text).to.equal('invalid_credential');
    }
    expect(used).to.have.length(1);
  });

  it('that are random leave nothing in the cache, and those in use stay cached', async () => {
    const { mint, check, refused, auth, node, reads } = await world();
    const { secret } = await mint();
    await check(secret);
    const kept: string[] = [];
    const set = StreamStates.prototype.set;
    StreamStates.prototype.set = function (stream, state, type) {
      kept.push(stream);
      set.call(this, stream, state, type);
    };
    try {
      for (let i = 0; i < 2000; i += 1) {
        const prefix = String(i).padStart(8, 'z');
        expect(await refused(`svc_pat_${prefix}${'x'.repeat(43)}`)).to.equal('invalid_credential');
      }
    } finally {
      StreamStates.prototype.set = set;
    }
    expect(kept).to.deep.equal([]);
    expect(node.states.cached(`${PLATFORM}.token_prefix-zzzzzzz0`)).to.equal(undefined);
    const before = reads();
    await auth.authenticate(secret);
    expect(reads()).to.equal(before);
  });

  it('are refused from the next request on when revoked, and their record stays', async () => {
    const { mint, check, refused, apiTokens, context } = await world();
    const [one, other] = [await mint(), await mint()];
    await check(one.secret);
    const { token } = await apiTokens.revoke('acme', one.id, context());
    expect(await refused(one.secret)).to.equal('invalid_credential');
    expect(await check(other.secret)).to.include({ tokenId: other.id });
    const again = await apiTokens.revoke('acme', one.id, context());
    expect(again.token).to.deep.equal(token);
    expect(await refusalCode(apiTokens.revoke('globex', one.id, context()))).to.equal('not_found');
    expect(await refusalCode(apiTokens.revoke('globex', other.id, context()))).to.equal('not_found');
    expect(await check(other.secret)).to.include({ tokenId: other.id });
  });

  it('are refused on another node once it has seen the revocation', async () => {
    const { mint, stores, reads, clock, apiTokens, authentication, context } = await world();
    const far = startNode({ ...stores, clock });
    const feed = new LiveFeed(far);
    const stopping = new AbortController();
    const running = feed.run(stopping.signal, () => undefined);
    const there = authentication(far);
    const { id, secret } = await mint();
    await there.authenticate(secret);
    const before = reads();
    await there.authenticate(secret);
    expect(reads()).to.equal(before);
    const { position } = await apiTokens.revoke('acme', id, context());
    await untilPasses(() => expect(position !== undefined && feed.hasReached(position)).to.equal(true));
    expect(await refusalCode(there.authenticate(secret))).to.equal('invalid_credential');
    stopping.abort();
    await running;
  });

  it('are refused from the instant of their expiry, also when verified before', async () => {
    const { mint, check, refused, clock } = await world();
    const [short, endless] = [await mint('acme', '30d'), await mint('acme', 'never')];
    await check(short.secret);
    clock.advance(30 * DAY - 1);
    await check(short.secret);
    clock.advance(1);
    expect(await refused(short.secret)).to.equal('credential_expired');
    expect(await refused(`${short.secret.slice(0, -1)}x`)).to.equal('invalid_credential');
    clock.advance(10_000 * DAY);
    await check(endless.secret);
  });

  it('of a suspended tenant return tenant_suspended until it is active again', async () => {
    const { mint, check, refused, tenant } = await world();
    const { secret } = await mint();
    await check(secret);
    await tenant('acme', 'suspended');
    expect(await refused(secret)).to.equal('tenant_suspended');
    await tenant('acme', 'active');
    await check(secret);
  });

  it('are minted once for one keyed request, and the retry returns no secret', async () => {
    const { apiTokens, node, check } = await world();
    const cause = causeOf('keyed');
    const request = {
      tenantId: 'acme',
      token: { name: 'n', scopes: ['data:read'], lifetime: '30d', createdBy: 'ann' },
    } as const;
    const keyed = (priorAttempt: { since: number } | undefined) =>
      apiTokens.mint(request.tenantId, request.token, { cause, priorAttempt, newId: () => 'the-id' });
    const first = await keyed(undefined);
    const second = await keyed({ since: 0 });
    expect(second.token).to.deep.equal(first.token);
    expect(second.secret).to.equal(undefined);
    expect(await check(first.secret ?? '')).to.include({ tokenId: 'the-id' });
    expect(await node.events.readStream('acme.api_token-the-id')).to.have.length(1);
    // The second try’s prefix leads to the token, but the first try’s tail does not open it.
    const crossed = `svc_pat_prefix01${(first.secret ?? '').slice(16)}`;
    expect(await refusalCode(check(crossed))).to.equal('invalid_credential');
  });

  it('whose minting crashed after the prefix open nothing', async () => {
    const { apiTokens, node, context, refused, mint, check } = await world(['lonelyPx', 'lonelyPx']);
    const execute = node.commands.execute.bind(node.commands);
    let calls = 0;
    node.commands.execute = (command) => {
      calls += 1;
      if (calls === 2) return Promise.reject(new Error('the process died'));
      return execute(command);
    };
    const dying = apiTokens.mint(
      'acme',
      { name: 'n', scopes: ['admin:*'], lifetime: 'never', createdBy: 'ann' },
      context(),
    );
    expect(await dying.catch((error: Error) => error.message)).to.equal('the process died');
    expect(await refused(`svc_pat_lonelyPx${'1'.padStart(43, 'T')}`)).to.equal('invalid_credential');
    node.commands.execute = execute;
    const { secret, id } = await mint();
    expect(await check(secret)).to.include({ tokenId: id });
  });
});
