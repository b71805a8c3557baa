import { expect } from 'chai';
import { inboxOf } from '../../support/inbox.ts';
import { forSuite } from '../../support/suite.ts';
import { say, startWorld, talk, token } from '../../support/world.ts';
import { allDone, doneAfter, numbers, pooled } from './busy-tenant.ts';

const PEOPLE = 100;
const MESSAGES = 25;

describe('many mentions in one tenant', () => {
  const here = forSuite(async () => {
    const world = await startWorld();
    const [busy, quiet] = [await world.tenant(), await world.tenant()];
    return { world, busy, quiet, ada: await quiet.person('Ada') };
  });

  it("do not delay another tenant's notification, and all are raised once", async () => {
    const { world, busy, quiet, ada } = here();
    const people: string[] = [];
    await pooled(numbers(PEOPLE), 16, async () => {
      people.push(token(await busy.person('P')));
    });
    const theirs = await talk(busy.admin, await busy.person('Ben'));
    const own = await talk(quiet.admin, ada);
    const body = people.join(' ');
    await pooled(numbers(MESSAGES), 16, () => say(busy.admin, theirs, body));
    await say(quiet.admin, own, token(ada));
    await inboxOf(ada, 1, 20_000);
    await allDone(world, busy, 'NotificationRaised', PEOPLE * MESSAGES, 60_000);
    const after = await doneAfter(world, 'NotificationRaised', { quiet, busy });
    expect(after).to.be.greaterThan((PEOPLE * MESSAGES) / 4);
  }).timeout(120_000);
});
