import { expect } from 'chai';
import { mintToken } from '../../support/delegation.ts';
import { endWorld, type Member, startWorld, type TestTenant, type World } from '../../support/world.ts';

const ENTITIES = '/api/v1/tenant/entities';
const TOKENS = 39;

/** A tenant's limit counts all its credentials together (docs/limits.md). */
describe('Requests of many API tokens', () => {
  let world: World;
  let loud: TestTenant;
  let quiet: Member;
  const tokens: string[] = [];

  before(async () => {
    world = await startWorld();
    loud = await world.tenant();
    quiet = await (await world.tenant()).person('Quinn');
    for (let nth = 0; nth < TOKENS; nth += 1) {
      tokens.push((await mintToken(loud.admin.api, { name: `t${nth}`, scopes: ['data:read'] })).token);
    }
    await world.server.stop();
    await world.restart({ RATE_LIMIT_PER_MINUTE: '10' });
  });
  after(endWorld);

  it('are refused beyond the limit of their tenant, and delay no other tenant', async () => {
    const ask = (token: string) => world.anybody.with(token).get(ENTITIES);
    const rounds = [...tokens, ...tokens];
    const answers = await Promise.all(rounds.map(ask));
    const refused = answers.filter(({ status }) => status === 429);
    // Each token may send two requests at once. On the free plan all tokens together may send 20 at once, and five more
    // in three seconds.
    expect(answers.length - refused.length).to.be.within(20, 40);
    for (const answer of refused) {
      expect(answer.error).to.equal('rate_limited');
      expect(answer.text).to.contain('"limit":"tenant"');
      expect(answer.header('retry-after')).to.match(/^[1-9]\d*$/);
    }
    expect((await quiet.api.get(ENTITIES)).status).to.equal(200);
  });
});
