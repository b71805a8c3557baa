import { expect } from 'chai';
import { TokenUses } from '../../../application/identity/token-uses.ts';
import { apiTokenStream, mintApiToken, revokeApiToken } from '../../../domain/identity/api-token.ts';
import { causeOf } from '../../support/book.ts';
import { severalTicks } from '../../support/eventually.ts';
import { withFakeTimers } from '../../support/fake-timers.ts';
import { testClock, testLogger } from '../../support/fakes.ts';
import { memoryStores, startNode } from '../../support/node.ts';

const start = async () => {
  const stores = memoryStores();
  const clock = testClock();
  const node = startNode({ ...stores, clock });
  const logger = testLogger();
  const token = { tenantId: 'acme', type: apiTokenStream, id: 'one', cause: causeOf('test') } as const;
  const command = {
    tokenId: 'one',
    name: 'n',
    prefix: 'p',
    secretHash: 'ff',
    scopes: ['data:read'],
    lifetime: '30d',
    createdBy: 'ann',
  } as const;
  await node.commands.execute({ ...token, decide: (state, at) => mintApiToken(state, command, at) });
  const uses = new TokenUses({ ...node, logger });
  const written = async () => {
    await severalTicks();
    const events = await stores.events.readStream('acme.api_token-one');
    return events.filter((event) => event.type === 'ApiTokenUsed').length;
  };
  const revoke = () => node.commands.execute({ ...token, decide: revokeApiToken });
  return { stores, clock, node, logger, uses, written, revoke };
};

describe('Uses of API tokens', () => {
  it('are recorded at the first, then at most once a minute', async () => {
    const { uses, clock, written } = await start();
    for (let i = 0; i < 500; i += 1) uses.note('acme', 'one');
    expect(await written()).to.equal(1);
    for (const [ms, count] of [
      [59_999, 1],
      [1, 2],
      [30_000, 2],
      [30_000, 3],
    ] as const) {
      clock.advance(ms);
      uses.note('acme', 'one');
      uses.note('acme', 'one');
      expect(await written()).to.equal(count);
    }
  });

  it('are recorded once a minute by several nodes together', async () => {
    const { stores, clock, uses, written } = await start();
    const other = startNode({ ...stores, clock });
    const there = new TokenUses({ ...other, logger: testLogger() });
    uses.note('acme', 'one');
    expect(await written()).to.equal(1);
    there.note('acme', 'one');
    expect(await written()).to.equal(1);
  });

  it('that cannot be recorded fail no request, and the next use a minute later is recorded', async () => {
    const { uses, clock, node, logger, written } = await start();
    const execute = node.commands.execute.bind(node.commands);
    node.commands.execute = () => Promise.reject(new Error('the store is away'));
    uses.note('acme', 'one');
    expect(await written()).to.equal(0);
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
    node.commands.execute = execute;
    clock.advance(60_000);
    uses.note('acme', 'one');
    expect(await written()).to.equal(1);
  });

  it('that could not be recorded are tried again after the clock was set back', async () => {
    const { uses, clock, node, written } = await start();
    const execute = node.commands.execute.bind(node.commands);
    node.commands.execute = () => Promise.reject(new Error('the store is away'));
    clock.advance(3_600_000);
    uses.note('acme', 'one');
    expect(await written()).to.equal(0);
    node.commands.execute = execute;
    clock.advance(-3_600_000);
    uses.note('acme', 'one');
    expect(await written()).to.equal(1);
  });

  it('of a token that was revoked before they are recorded leave no event', async () => {
    const { uses, revoke, written } = await start();
    await revoke();
    uses.note('acme', 'one');
    expect(await written()).to.equal(0);
  });

  it('delay a stop only briefly for running writes, and start no new ones', async () => {
    const { uses, node, written } = await start();
    uses.note('acme', 'one');
    await uses.close();
    expect(await written()).to.equal(1);
    node.commands.execute = () => new Promise(() => undefined);
    const stuck = new TokenUses({ ...node, logger: testLogger() });
    stuck.note('acme', 'one');
    await withFakeTimers(async ({ pass }) => {
      const closed = stuck.close();
      await pass(1000);
      await closed;
    });
    let asked = 0;
    node.commands.execute = () => {
      asked += 1;
      return new Promise(() => undefined);
    };
    stuck.note('acme', 'two');
    expect(asked).to.equal(0);
  });
});
