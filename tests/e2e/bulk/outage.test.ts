import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { define } from '../entities/support.ts';
import { Killer } from './kill-support.ts';
import { cancel, commit, createMany, csvOf, edit, ended, preview, session } from './support.ts';

const ROWS = 2_000;

describe('A bulk commit during an outage of its store', () => {
  let world: World;
  let tenant: TestTenant;
  let killer: Killer;
  let entity: string;
  let ids: string[];

  before(async () => {
    world = await startWorld({ env: { BULK_GIVE_UP_SECONDS: '2' } });
    tenant = await world.tenant();
    killer = new Killer(world, tenant);
    entity = await define(tenant.admin, { key: 'n', type: 'integer' });
    ids = await createMany(tenant.admin, entity, ROWS, () => ({ n: 0 }));
  });
  after(endWorld);

  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  /** Makes the log unavailable for `ms`: freezes its server or, if the log is embedded, locks it against writers. */
  const outOfReach = async (ms: number): Promise<void> => {
    const { eventStore } = world.server;
    if (eventStore !== undefined) {
      eventStore.freeze();
      await pause(ms);
      eventStore.thaw();
      return;
    }
    const db = new DatabaseSync(join(world.server.dataDir, 'events.db'), { timeout: 5_000 });
    try {
      db.exec('BEGIN IMMEDIATE');
      await pause(ms);
      db.exec('ROLLBACK');
    } finally {
      db.close();
    }
  };

  /** Edits all records. @returns once some are edited: the session, and each record's number of events before it */
  const begun = async (n: number) => {
    const since = await killer.lengths(ids);
    const made = await preview(tenant.admin, entity, edit({ n }), ids);
    (await commit(tenant.admin, made.id)).as(session, 202);
    await killer.rowIsDone(ids[0] ?? '', 'RecordUpdated', since[0] ?? 0);
    return { id: made.id, since };
  };

  it('longer than the limit ends as errored, and counts the rows that were done', async () => {
    // A write without the store fails after five seconds. The commit then gives up: nothing succeeded for two seconds.
    const { id } = await begun(1);
    await outOfReach(14_000);
    const { status, result } = await ended(tenant.admin, id, 60_000);
    expect(status).to.equal('errored');
    const changed = (await killer.lengths(ids)).filter((length) => length > 1).length;
    expect(changed).to.be.within(1, ROWS - 1);
    expect(result).to.deep.include({
      succeeded: changed,
      skipped: 0,
      errored: 0,
      not_processed: ROWS - changed,
    });
    expect(await csvOf(tenant.admin, id)).to.deep.equal([]);
    for (const act of [commit, cancel]) {
      const answer = await act(tenant.admin, id);
      expect([answer.status, answer.error]).to.deep.equal([409, 'invalid_transition']);
    }
  }).timeout(120_000);

  it('shorter than the limit continues', async () => {
    const { id, since } = await begun(2);
    await outOfReach(1_500);
    const { status, result } = await ended(tenant.admin, id, 60_000);
    expect(status).to.equal('committed');
    expect(result).to.include({ succeeded: ROWS, skipped: 0, errored: 0 });
    expect(await killer.lengths(ids)).to.deep.equal(since.map((length) => length + 1));
  }).timeout(120_000);
});
