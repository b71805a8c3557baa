import { expect } from 'chai';
import { NDJSON } from '../../../api/http/ndjson.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { ENTRIES, GL, withBooks } from '../ledger/support.ts';
import { meanwhile } from './support.ts';

const COUNT = 30;
const LINES = 1_000;

describe('Exports of large entries', function () {
  this.timeout(60_000);
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld();
    tenant = await withBooks(world);
    const line = (nth: number) => ({
      account_code: nth % 2 === 0 ? '1000' : '4000',
      [nth % 2 === 0 ? 'debit' : 'credit']: 100,
      memo: `Line ${nth} of a long entry`,
    });
    const lines = Array.from({ length: LINES }, (_, nth) => line(nth));
    const memo = 'Large';
    for (let at = 0; at < COUNT; at += 5) {
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          const made = await tenant.admin.api.post(ENTRIES, {
            date: '2026-03-01',
            memo,
            currency: 'EUR',
            lines,
          });
          const id = (made.json as { id: string }).id;
          const posted = await tenant.admin.api.post(`${ENTRIES}/${id}/post`);
          if (posted.status !== 200) throw new Error(posted.text);
        }),
      );
    }
  });
  after(endWorld);

  const read = async (path: string, accept = '*/*'): Promise<number> => {
    const response = await fetch(world.server.base + path, {
      headers: { authorization: `Bearer ${tenant.admin.token}`, accept },
    });
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return bytes;
  };

  for (const [path, accept] of [
    [`${GL}/entries.csv`, '*/*'],
    [`${GL}/journal.hledger`, '*/*'],
    ['/api/v1/tenant/audit/events', NDJSON],
    [`${ENTRIES}?limit=200`, '*/*'],
  ] as const) {
    it(`hold no tick for long: ${path}`, async () => {
      const { result, blockedBy } = await meanwhile(world.server, () =>
        Promise.all(Array.from({ length: 3 }, () => read(path, accept))),
      );
      expect(Math.min(...result)).to.be.above(1_000_000);
      expect(blockedBy).to.deep.equal([]);
    });
  }
});
