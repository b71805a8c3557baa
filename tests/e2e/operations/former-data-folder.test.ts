import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { type Caller, fixtures, logOf, type Recorded, unpack } from '../../fixtures/former-data/archive.ts';
import { clientOfCaller } from '../../fixtures/former-data/callers.ts';
import { admin } from '../../support/admin-cli.ts';
import type { Client } from '../../support/client.ts';
import { findIn } from '../../support/files.ts';
import { newDataFolder } from '../../support/server.ts';
import { liveMessage } from '../../support/shapes.ts';
import { type Verdict, verdictOfArgs } from '../../support/verifiers.ts';
import { BASE, endWorld, startWorld, type World } from '../../support/world.ts';
import { at, record, records } from '../entities/support.ts';
import { FAILURES, failure } from '../ledger/rules-support.ts';
import { ENTRIES, entry } from '../ledger/support.ts';
import { JOBS } from '../workflow/support.ts';

/**
 * Reads and continues a data folder of a former version (tests/fixtures/former-data). The fixture has every event type
 * of that version and its recorded answers.
 */

const EVENTS = '/api/v1/tenant/audit/events';
const PROOF = '/api/v1/tenant/audit/proof';
const NDJSON = { headers: { accept: 'application/x-ndjson' } };

/** Members that depend on the time of the read: `open` tells whether a window has not ended yet. */
const TIMELY = new Set(['open']);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The parts of the present answer that the former answer has, too. */
const within = (former: unknown, now: unknown): unknown => {
  if (Array.isArray(former) && Array.isArray(now)) {
    return now.map((item, index) => (index < former.length ? within(former[index], item) : item));
  }
  if (!isObject(former) || !isObject(now)) return now;
  const known = Object.keys(now).filter((key) => key in former);
  return Object.fromEntries(
    known.map((key) => [key, TIMELY.has(key) ? former[key] : within(former[key], now[key])]),
  );
};

const line = z.looseObject({
  position: z.string(),
  id: z.string(),
  data: z.unknown(),
  sealed: z.strictObject({ data: z.string(), metadata: z.string() }),
});
const linesOf = (text: string): z.output<typeof line>[] =>
  text
    .trimEnd()
    .split('\n')
    .map((each) => line.parse(JSON.parse(each)));

const head = z.looseObject({ public_key: z.string() });
const publicKeyOf = (proof: string): string =>
  head.parse(JSON.parse(proof.slice(0, proof.indexOf('\n')))).public_key;

/** Reads that the former version allowed to admins only; today every person may make them (decisions, section 3). */
const ALLOWED_SINCE = new Set(['/api/v1/tenant/extensions']);

/** Clears `last_error` of delivered deliveries: the former version kept the error of an earlier attempt. */
const corrected = (path: string, body: unknown): unknown =>
  /\/webhooks\/[^/]+\/deliveries/.test(path) && Array.isArray(body)
    ? body.map((each: unknown) =>
        isObject(each) && each.status === 'delivered' ? { ...each, last_error: null } : each,
      )
    : body;

for (const name of fixtures()) {
  describe(`A data folder of a former version: ${name}`, function () {
    this.timeout(240_000);
    let world: World;
    let recorded: Recorded;
    let text: (name: string) => string;
    let folder: string;

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'former-data-'));
      const dataDir = await newDataFolder();
      ({ recorded, text } = await unpack(name, dataDir));
      world = await startWorld({ dataDir, env: recorded.keys });
      await world.ready();
    });
    after(async () => {
      await endWorld();
      await rm(folder, { recursive: true });
    });

    const as = (who: string): Client => {
      const caller: Caller | undefined = recorded.callers[who];
      if (caller === undefined) throw new Error(`nobody is called ${who}`);
      return clientOfCaller(world.anybody, caller, recorded.keys);
    };
    const idOf = (what: string): string => recorded.ids[what] ?? '';
    const suspend = async (status: 'active' | 'suspended'): Promise<void> => {
      (await as('platform').patch('/super/tenants/cove', { status })).as(z.looseObject({}));
    };

    it('holds every event type of its version, as written', async () => {
      const log = await logOf(world.server.dataDir, recorded.log.events);
      expect(recorded.log.types.length).to.be.greaterThan(100);
      expect(log).to.deep.equal(recorded.log);
    });

    it('gives the answers that its version gave', async () => {
      expect(recorded.answers.length).to.be.greaterThan(200);
      for (const { caller, path, status, body } of recorded.answers) {
        const answer = await as(caller).get(path);
        if (status === 403 && ALLOWED_SINCE.has(path) && answer.status === 200) continue;
        const now = within(body, answer.json ?? answer.text);
        expect([answer.status, now], `${caller} ${path}`).to.deep.equal([status, corrected(path, body)]);
      }
    });

    it('holds no erased text', async () => {
      expect(await findIn(world.server.dataDir, recorded.erased)).to.deep.equal([]);
      const conversation = await as('ada').get(`${BASE}/${idOf('conversation')}/messages?limit=200`);
      expect(conversation.text).to.contain('deleted_at').and.not.to.contain(recorded.erased.message);
      const people = await as('acme').get('/api/v1/tenant/users?limit=200');
      expect(people.text).to.contain('[erased]').and.not.to.contain(recorded.erased.name);
    });

    const verdictOn = async (events: string, proof: string, publicKey: string): Promise<Verdict> => {
      const [eventsPath, proofPath] = [join(folder, 'events.ndjson'), join(folder, 'proof.ndjson')];
      await writeFile(eventsPath, events);
      await writeFile(proofPath, proof);
      return verdictOfArgs(['--export', eventsPath, '--proof', proofPath, '--public-key', publicKey]);
    };

    it('is exported as its version exported it, and is verified', async () => {
      await suspend('active');
      for (const tenant of recorded.tenants) {
        const [former, formerProof] = [text(`${tenant}.ndjson`), text(`${tenant}.proof.ndjson`)];
        const events = (await as(tenant).get(EVENTS, NDJSON)).text;
        const proof = (await as(tenant).get(PROOF, NDJSON)).text;
        const lines = linesOf(events);
        for (const [index, each] of linesOf(former).entries()) {
          expect(within(each, lines[index])).to.deep.equal(each);
        }
        const key = publicKeyOf(formerProof);
        expect(publicKeyOf(proof)).to.equal(key);
        const verified = { verified: true, fault: null, tenant_id: tenant };
        for (const [exported, proven] of [
          [former, formerProof],
          [events, formerProof],
          [events, proof],
        ] as const) {
          expect(await verdictOn(exported, proven, key), tenant).to.deep.include(verified);
        }
      }
      await suspend('suspended');
    });

    it('continues its streams', async () => {
      const [ada, boss, { keyed }] = [as('ada'), as('acme'), recorded];
      const path = `${BASE}/${idOf('conversation')}/messages`;
      const said = (await ada.post(path, { body: 'A message of a later version' })).as(liveMessage, 201);
      expect((await ada.get(`${path}?limit=200`)).text).to.contain(said.id);
      const again = await ada.post(path, keyed.body, { headers: { 'idempotency-key': keyed.key } });
      expect(again.as(liveMessage, 201).id).to.equal(idOf('said'));

      const moved = await ada.post(`${JOBS}/${idOf('job')}/transitions`, { event_name: 'submit' });
      expect(moved.as(z.looseObject({ state: z.string() })).state).to.equal('submitted');

      const [one] = (await ada.get(at(idOf('customer')))).as(records);
      const edited = await ada.patch(at(idOf('customer'), one?.id), { values: { title: 'Edited later' } });
      expect(edited.as(record)).to.deep.include({ version: (one?.version ?? 0) + 1 });

      const mirror = (await boss.post(`${ENTRIES}/${idOf('entry')}/reverse`)).as(entry, 201);
      expect((await boss.get(`${ENTRIES}/${idOf('entry')}`)).as(entry)).to.include({
        state: 'reversed',
        reversed_by: mirror.id,
      });
      const posted = (await boss.post(`${ENTRIES}/${idOf('draft')}/post`)).as(entry);
      expect(posted.number).to.equal((mirror.number ?? 0) + 1);

      const resolved = (await boss.post(`${FAILURES}/${idOf('failure')}/retry`)).as(failure);
      expect(resolved).to.have.property('resolved_at');
    });

    it('passes verification after a later version has written to it', async () => {
      const env = { ...recorded.keys, DATA_DIR: world.server.dataDir };
      const { code, stdout, stderr } = await admin(['verify-data'], env, '', 120_000);
      expect([code, stdout], stderr).to.deep.equal([0, '']);
    });
  });
}

describe('The fixtures of former data folders', () => {
  it('exist', () => {
    expect(fixtures()).to.include('2026-11');
  });
});
