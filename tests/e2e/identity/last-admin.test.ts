import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { clientOf } from '../../support/client.ts';
import { testLogger } from '../../support/fakes.ts';
import { eventually } from '../../support/server.ts';
import { user, users } from '../../support/shapes.ts';
import { adaAndTwoServers, bossAndAda, forSuite } from '../../support/suite.ts';
import { type Member, startWorld, USERS } from '../../support/world.ts';

const ENDS = ['demotes', 'deactivates', 'forgets'] as const;
type End = (typeof ENDS)[number];
/** Number of tenants whose admins race: `least`, then more, up to `most`, until a race has admitted both requests. */
const TENANTS = { least: 9, most: 45 };

const end = (by: Member, other: Member, how: End) => {
  switch (how) {
    case 'demotes':
      return by.api.patch(`${USERS}/${other.id}`, { role: 'operator' });
    case 'deactivates':
      return by.api.patch(`${USERS}/${other.id}`, { status: 'deactivated' });
    case 'forgets':
      return by.api.post(`${USERS}/${other.id}/forget`);
    default:
      return how satisfies never;
  }
};

describe('The last admin of a tenant', () => {
  const here = forSuite(adaAndTwoServers);

  const isAdmin = async (person: Member): Promise<boolean> => {
    const answer = await person.api.get('/api/v1/tenant/me');
    return answer.status === 200 && answer.as(user.loose()).role === 'admin';
  };

  for (const nodes of ['one node', 'two nodes'] as const) {
    it(`stays when two admins end each other’s rights at the same instant on ${nodes}`, async () => {
      const { world, other } = here();
      const elsewhere = await clientOf(() => other);
      let alone = 0;
      for (let nth = 0; nth < TENANTS.least || (alone === 0 && nth < TENANTS.most); nth += 1) {
        const tenant = await world.tenant();
        const ann = tenant.admin;
        const made = await tenant.person('Ben', 'admin');
        const ben = nodes === 'one node' ? made : { ...made, api: elsewhere.with(made.token) };
        // Each person is cached at the node that the person uses.
        for (const person of [ann, ben]) expect(await isAdmin(person)).to.equal(true);
        const how = ENDS[nth % ENDS.length] ?? 'demotes';
        const answers = await Promise.all([end(ann, ben, how), end(ben, ann, how)]);
        const statuses = answers.map(({ status }) => status);
        expect(
          statuses.filter((status) => status < 300),
          `${how}: ${statuses.join(' and ')}`,
        ).to.have.length(1);
        const refused = answers.find(({ status }) => status > 299);
        // A refusal is 401 or 403 when the rights ended before the check of the credential, otherwise 409.
        expect(refused?.status).to.be.oneOf([401, 403, 409]);
        await eventually('one admin', async () => {
          const admins = await Promise.all([ann, ben].map(isAdmin));
          return admins.filter((admin) => admin).length === 1;
        });
        alone += refused?.status === 409 ? 1 : 0;
      }
      expect(alone, 'races that were decided after both were let in').to.be.greaterThan(0);
    }).timeout(60_000);
  }
});

describe('The last admin of a tenant under kill -9', () => {
  const here = forSuite(() => bossAndAda(startWorld));
  const PAIRS = 16;

  const openLog = () =>
    openSqliteEventStore({ path: join(here().world.server.dataDir, 'events.db'), logger: testLogger() });
  type Log = Awaited<ReturnType<typeof openLog>>;

  const withdrawals = (log: Log, tenantId: string) => log.readStream(`${tenantId}.admins-main`, { from: 0 });
  const hasEnded = async (log: Log, person: Member): Promise<boolean> => {
    const types = ['UserRoleChanged', 'UserStatusChanged', 'UserForgotten'];
    const events = await log.readStream(`${person.tenantId}.user-${person.id}`, { from: 0 });
    return events.some(({ type }) => types.includes(type));
  };

  const pair = async (how: End): Promise<{ ann: Member; ben: Member; how: End }> => {
    const tenant = await here().world.tenant();
    return { ann: tenant.admin, ben: await tenant.person('Ben', 'admin'), how };
  };

  /** Number of active admins, read with the token of a person who is still an admin. */
  const activeAdmins = async (...people: readonly Member[]): Promise<number> => {
    for (const person of people) {
      const answer = await person.api.get(USERS);
      if (answer.status !== 200) continue;
      return answer.as(users).filter(({ role, status }) => role === 'admin' && status === 'active').length;
    }
    return 0;
  };

  it('stays, and the next start finishes each stored withdrawal', async () => {
    const { world } = here();
    let cut = 0;
    // Repeats until a kill falls between a withdrawal and the change of its user.
    for (let round = 0; round < 10 && cut === 0; round += 1) {
      const pairs = await Promise.all(
        Array.from({ length: PAIRS }, (_, nth) => pair(ENDS[nth % ENDS.length] ?? 'demotes')),
      );
      const log = await openLog();
      try {
        const requests = pairs
          .flatMap(({ ann, ben, how }) => [end(ann, ben, how), end(ben, ann, how)])
          .map((request) =>
            request.catch((error: unknown) => {
              // Only the connection may fail.
              if (!(error instanceof TypeError)) throw error;
            }),
          );
        await eventually('a withdrawal', async () => {
          const found = await Promise.all(pairs.map(({ ann }) => withdrawals(log, ann.tenantId)));
          return found.some((events) => events.length > 0);
        });
        await world.server.kill();
        await Promise.all(requests);
        for (const { ann, ben } of pairs) {
          const stored = await withdrawals(log, ann.tenantId);
          const ended = [await hasEnded(log, ann), await hasEnded(log, ben)].filter((each) => each).length;
          expect(ended, 'nobody is ended without a withdrawal').to.be.at.most(stored.length);
          cut += stored.length - ended;
        }
        await world.restart();
        await world.ready();
        for (const { ann, ben, how } of pairs) {
          const { length } = await withdrawals(log, ann.tenantId);
          expect(length).to.be.at.most(1);
          await eventually(
            `${how}: the end of ${length}`,
            async () => {
              return (await activeAdmins(ann, ben)) === 2 - length;
            },
            15_000,
          );
        }
      } finally {
        await log.close();
      }
    }
    expect(cut, 'withdrawals whose user was still to be changed').to.be.greaterThan(0);
  }).timeout(120_000);
});
