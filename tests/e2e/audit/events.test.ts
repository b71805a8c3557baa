import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { chainFaults } from '../../support/chain.ts';
import type { Client } from '../../support/client.ts';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { verdictOfArgs, verdictOfNode } from '../../support/verifiers.ts';
import {
  BASE,
  endWorld,
  type Member,
  say,
  startWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';

const EVENTS = '/api/v1/tenant/audit/events';
const PROOF = '/api/v1/tenant/audit/proof';
const NDJSON = 'application/x-ndjson';

/** Strict, to detect additional keys. */
const audited = z.strictObject({
  position: z.string(),
  stream: z.string(),
  revision: z.number(),
  id: z.string(),
  type: z.string(),
  data: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), z.unknown()),
  sealed: z.strictObject({ data: z.string(), metadata: z.string() }),
});
type Audited = z.output<typeof audited>;

const signedHead = z.strictObject({
  tenant_id: z.string(),
  position: z.string(),
  root: z.string().regex(/^[0-9a-f]{64}$/),
  signed_at: z.string(),
  algorithm: z.literal('Ed25519'),
  public_key: z.string(),
  signature: z.string(),
});

/** Decisions, section 11. */
describe('The audit export of events', () => {
  let world: World;
  let home: TestTenant;
  let ada: Member;
  let ben: Member;
  let room: string;
  let folder: string;
  const received: string[] = [];
  const receiver = createServer((call, response) => {
    let body = '';
    call.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    call.on('end', () => {
      received.push(body);
      // Refuses the first request, so that the server must repeat it.
      response.writeHead(received.length === 1 ? 503 : 204).end();
    });
  });
  const listening = new Promise<number>((resolve) => {
    receiver.listen(0, '127.0.0.1', () => resolve((receiver.address() as AddressInfo).port));
  });
  const password = `a-password-${randomUUID()}`;

  before(async function () {
    this.timeout(60_000);
    folder = await mkdtemp(join(tmpdir(), 'audit-e2e-'));
    world = await startWorld({ env: { AUDIT_HEADS: join(folder, 'heads') } });
    home = await world.tenant();
    [ada, ben] = [await home.person('Ada'), await home.person('Ben')];
    await (await world.tenant()).person('Somebody else');
    room = await talk(ada, ben);
    for (let nth = 0; nth < 5; nth += 1) await say(nth % 2 === 0 ? ada : ben, room, `Message “${nth}”`);
    await home.admin.api.patch(`${USERS}/${ben.id}`, { password });
  });
  after(async () => {
    await endWorld();
    receiver.close();
    await rm(folder, { recursive: true, force: true });
  });

  const page = async (query: string, api: Client = home.admin.api) => {
    const answer = await api.get(query.startsWith('/') ? query : `${EVENTS}${query}`);
    const next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
    return { events: answer.as(z.array(audited)), next };
  };
  const exported = async (query = '', api: Client = home.admin.api): Promise<string> => {
    const answer = await api.get(`${EVENTS}${query}`, { headers: { accept: NDJSON } });
    expect(answer.status).to.equal(200);
    expect(answer.header('content-type')).to.equal(NDJSON);
    return answer.text;
  };
  const parsed = (text: string): Audited[] =>
    text === ''
      ? []
      : text
          .trimEnd()
          .split('\n')
          .map((line) => audited.parse(JSON.parse(line)));
  const events = async (query = ''): Promise<Audited[]> => parsed(await exported(query));

  it('has all events of the tenant and no others, in log order, chained', async () => {
    const all = await events();
    expect(all.length).to.be.greaterThan(10);
    const positions = all.map(({ position }) => position);
    expect(positions).to.deep.equal([...new Set(positions)].sort());
    expect(new Set(all.map(({ stream }) => stream.split('.')[0]))).to.deep.equal(new Set([home.id]));
    const streams = Map.groupBy(all, ({ stream }) => stream);
    for (const own of streams.values()) {
      expect(chainFaults(own.map(({ sealed, ...event }) => ({ ...event, ...sealed })))).to.deep.equal([]);
    }
  });

  it('shows opened texts beside the stored ones, and no credential', async () => {
    const [message] = await events('?type=MessageSent');
    expect(message?.data).to.include({ body: 'Message “0”', sender_user_id: ada.id });
    expect(message?.sealed.data).to.match(/"body":"v1:/);
    expect(message?.metadata).to.deep.include({ tenant_id: home.id, actor: { id: ada.id, kind: 'user' } });
    expect(JSON.parse(message?.sealed.metadata ?? '')).to.deep.equal(message?.metadata);
    const set = await events('?type=UserPasswordSet');
    expect(set.map(({ data }) => data)).to.deep.equal([{ user_id: ben.id, password_hash: '[secret]' }]);
    const whole = await exported();
    expect(whole).not.to.match(/argon2/);
    expect(whole).not.to.include(password);
  });

  it('shows an erased text as [erased], and its stored bytes unchanged', async () => {
    const sent = await say(ada, room, 'soon gone');
    const [before] = (await events(`?stream=${home.id}.conversation-${room}`)).slice(-1);
    await ada.api.delete(`${BASE}/${room}/messages/${sent.id}`);
    const after = (await events(`?stream=${home.id}.conversation-${room}`)).find(
      ({ id }) => id === before?.id,
    );
    expect(before?.data.body).to.equal('soon gone');
    expect(after?.data.body).to.equal('[erased]');
    expect(after?.sealed).to.deep.equal(before?.sealed);
  });

  it('has the same events in pages of any size as in one answer', async () => {
    const all = await events();
    for (const size of [1, 3, 200]) {
      const found: Audited[] = [];
      let next: string | undefined = `?limit=${size}`;
      while (next !== undefined) {
        const one: Awaited<ReturnType<typeof page>> = await page(next);
        expect(one.events.length).to.be.at.most(size);
        found.push(...one.events);
        next = one.next;
      }
      expect(found).to.deep.equal(all.slice(0, found.length));
      expect(found.length).to.be.at.least(all.length);
    }
  });

  it('continues after a position, in pages or in one answer, and repeats earlier bytes exactly', async () => {
    const whole = await exported();
    const middle = parsed(whole)[4]?.position ?? '';
    const rest = await exported(`?after=${middle}`);
    expect(whole.split('\n').slice(0, 5).join('\n').concat('\n', rest).startsWith(whole)).to.equal(true);
    expect((await page(`?after=${middle}&limit=1`)).events[0]).to.deep.equal(parsed(rest)[0]);
    const { stream } = parsed(whole)[4] ?? {};
    const own = parsed(whole).filter((event) => event.stream === stream && event.position > middle);
    expect(await events(`?stream=${stream}&after=${middle}`)).to.deep.equal(own);
    const answer = await ada.api.post(`${BASE}/${room}/messages`, { body: 'a position' });
    const at = answer.header('x-event-position') ?? '';
    const since = await events(`?after=${at}`);
    expect(since.every(({ position }) => position > at)).to.equal(true);
    expect((await events()).map(({ position }) => position)).to.include(at);
  });

  it('selects by stream, category, type, actor and time, alone and combined', async () => {
    const all = await events();
    const conversation = `${home.id}.conversation-${room}`;
    const of = (keep: (event: Audited) => boolean) => all.filter(keep).map(({ id }) => id);
    const ids = async (query: string) => [
      (await events(query)).map(({ id }) => id),
      (await page(`${query}&limit=200`)).events.map(({ id }) => id),
    ];
    const at = (event: Audited): string => String(event.metadata.occurred_at);
    const middle = at(all[6] as Audited);
    const both = (expected: string[]) => [expected, expected];
    expect(await ids(`?stream=${conversation}`)).to.deep.equal(both(of((e) => e.stream === conversation)));
    expect(await ids('?category=user')).to.deep.equal(
      both(of((e) => e.stream.startsWith(`${home.id}.user-`))),
    );
    expect(await ids('?type=MessageSent')).to.deep.equal(both(of((e) => e.type === 'MessageSent')));
    const byAda = (e: Audited): boolean => (e.metadata.actor as { id: string }).id === ada.id;
    expect(await ids(`?actor=${ada.id}`)).to.deep.equal(both(of(byAda)));
    expect(await ids(`?to=${middle}`)).to.deep.equal(both(of((e) => at(e) < middle)));
    const from = encodeURIComponent(middle.replace('Z', '+00:00'));
    expect(await ids(`?from=${from}`)).to.deep.equal(both(of((e) => at(e) >= middle)));
    const query = `?stream=${conversation}&category=conversation&type=MessageSent&actor=${ada.id}&from=${from}`;
    const found = of((e) => byAda(e) && e.type === 'MessageSent' && at(e) >= middle);
    expect(found.length).to.be.greaterThan(0);
    expect(await ids(query)).to.deep.equal(both(found));
  });

  it('selects nothing by unknown, foreign or empty values', async () => {
    for (const query of [
      'stream=nowhere',
      'stream=',
      `stream=${home.id}.`,
      `stream=${home.id}.conversation`,
      `stream=${home.id}.conversation-`,
      'stream=platform.tenant-x',
      `stream=platform.tenant-${home.id}`,
      'category=unknown',
      'category=',
      `category=conversation-${room}`,
      'category=%25',
      'type=NothingHappened',
      'type=',
      'actor=nobody',
      'actor=',
      'to=2000-01-01T00:00:00Z',
      'from=2100-01-01T00:00:00Z',
      `stream=${home.id}.conversation-${room}&category=user`,
    ]) {
      expect((await page(`?${query}`)).events, query).to.deep.equal([]);
      expect(await exported(`?${query}`), query).to.equal('');
    }
  });

  it('refuses invalid positions, instants and limits, as JSON and as NDJSON', async () => {
    const outside = ['from=9999-12-31T23:59:59-14:00', 'to=9999-12-31T23:59:59-14:00'];
    for (const query of [
      'after=x',
      'after=',
      'after=-1',
      'from=yesterday',
      'to=2026',
      'limit=many',
      ...outside,
    ]) {
      for (const headers of [{}, { accept: NDJSON }]) {
        const { status, error } = await home.admin.api.get(`${EVENTS}?${query}`, { headers });
        expect([status, error], query).to.deep.equal([400, 'validation_failed']);
      }
    }
  });

  it('is for admins', async () => {
    for (const path of [EVENTS, PROOF]) expect((await ada.api.get(path)).error).to.equal('admin_required');
  });

  describe('with its head', () => {
    const written = async (name: string, text: string): Promise<string> => {
      const path = join(folder, name);
      await writeFile(path, text);
      return path;
    };

    it('is verified without the server, also after an erasure', async () => {
      const proof = await home.admin.api.get(PROOF);
      const head = proof.as(signedHead);
      expect(head.tenant_id).to.equal(home.id);
      const args = [
        '--export',
        await written('events.ndjson', await exported()),
        '--public-key',
        head.public_key,
        '--proof',
      ];
      const whole = await verdictOfNode(...args, await written('proof.json', proof.text));
      expect(whole).to.deep.include({ verified: true, tenant_id: home.id, fault: null });
      const listed = await home.admin.api.get(PROOF, { headers: { accept: NDJSON } });
      expect(listed.header('content-type')).to.equal(NDJSON);
      const [first, ...heads] = listed.text.trimEnd().split('\n');
      expect(signedHead.parse(JSON.parse(first ?? '')).public_key).to.equal(head.public_key);
      expect(heads.length).to.equal(whole.streams);
      const again = await written('again.ndjson', await exported());
      expect(
        await verdictOfArgs([
          '--export',
          again,
          ...args.slice(2),
          await written('proof.ndjson', listed.text),
        ]),
      ).to.deep.include({ verified: true });
    });

    it('covers every write that was answered before the head was requested', async () => {
      for (let nth = 0; nth < 10; nth += 1) {
        const answer = await ada.api.post(`${BASE}/${room}/messages`, { body: `covered ${nth}` });
        const head = (await home.admin.api.get(PROOF)).as(signedHead);
        expect(head.position >= (answer.header('x-event-position') ?? '~')).to.equal(true);
      }
    });

    it('writes each head to AUDIT_HEADS, periodic ones too', async () => {
      const head = (await home.admin.api.get(PROOF)).as(signedHead);
      const file = join(folder, 'heads', `${home.id}.ndjson`);
      const heads = async () => parsedHeads(await readFile(file, 'utf8').catch(() => ''));
      await eventually('the head outside', async () =>
        (await heads()).some(({ signature }) => signature === head.signature),
      );
      const sent = await ada.api.post(`${BASE}/${room}/messages`, { body: 'signed periodically' });
      const position = sent.header('x-event-position') ?? '~';
      await eventually(
        'a periodic head',
        async () => (await heads()).some((one) => one.position >= position),
        60_000,
      );
      const args = ['--heads', file, '--public-key', head.public_key];
      const to = await written('later.ndjson', await exported());
      expect(await verdictOfArgs(['--export', to, ...args])).to.deep.include({ verified: true });
    }).timeout(90_000);

    const parsedHeads = (text: string) =>
      text === ''
        ? []
        : text
            .trimEnd()
            .split('\n')
            .map((line) => signedHead.parse(JSON.parse(line)));

    it('is signed with the same key after a restart, and with AUDIT_SIGNING_KEY when it is set', async () => {
      const before = (await home.admin.api.get(PROOF)).as(signedHead);
      await world.server.stop();
      await world.restart({ AUDIT_HEADS: `http://127.0.0.1:${await listening}/heads` });
      await world.ready();
      const after = (await home.admin.api.get(PROOF)).as(signedHead);
      expect(after.public_key).to.equal(before.public_key);
      const posted = await eventually('the head at the URL', () =>
        received.find((body) => body.includes(after.signature)),
      );
      expect(signedHead.parse(JSON.parse(posted))).to.deep.equal(after);
      await world.server.stop();
      await world.restart({ AUDIT_SIGNING_KEY: Buffer.alloc(32, 7).toString('base64') });
      await world.ready();
      const own = (await home.admin.api.get(PROOF)).as(signedHead);
      expect(own.public_key).not.to.equal(before.public_key);
    }).timeout(60_000);
  });

  describe('as NDJSON', () => {
    it('is cut off when the server stops, and does not delay the stop', async () => {
      // Far more than the sockets' buffers hold.
      const body = 'x'.repeat(9_900);
      for (let nth = 0; nth < 500; nth += 20) {
        await Promise.all(Array.from({ length: 20 }, () => say(ada, room, body)));
      }
      const outcome = await new Promise<string>((resolve) => {
        const call = request(
          `${world.server.base}${EVENTS}`,
          { headers: { accept: NDJSON, authorization: `Bearer ${home.admin.token}` } },
          (response) => {
            response.once('data', () => {
              response.pause();
              world.server.signal('SIGTERM');
              setTimeout(() => response.resume(), 300);
            });
            response.once('aborted', () => resolve('aborted'));
            response.once('end', () => resolve('ended'));
            response.on('error', () => undefined);
          },
        );
        call.on('error', () => resolve('aborted'));
        call.end();
      });
      expect(outcome).to.equal('aborted');
      const began = performance.now();
      expect((await world.server.exited).code).to.equal(0);
      expect(performance.now() - began).to.be.lessThan(await atPresentPace(9000));
    }).timeout(90_000);
  });
});
