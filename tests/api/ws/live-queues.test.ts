import { expect } from 'chai';
import { severalTicks, untilPasses } from '../../support/eventually.ts';
import { memoryStores, startNode } from '../../support/node.ts';
import type { Listening } from '../../support/socket.ts';
import { startSocketNode, writerOf } from '../../support/socket-node.ts';

describe('Live envelopes while a store is unavailable', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  /** Two tenants, each with a person Bob. */
  const begin = async () => {
    const stores = memoryStores();
    const here = await startSocketNode(stores);
    ends.push(here.end);
    const node = startNode(stores);
    const [acme, other] = [writerOf(node, 'acme'), writerOf(node, 'other')];
    for (const writer of [acme, other]) {
      await writer.start();
      await writer.join('bob');
    }
    const bob = await here.connect('acme', 'bob');
    const otherBob = await here.connect('other', 'bob');
    return { here, acme, other, bob, otherBob };
  };
  const ids = (socket: Listening) =>
    socket.seen.flatMap((one) => {
      if (one.kind === 'message') return [one.message.id];
      return one.kind === 'notification' ? [one.notification.id] : [];
    });

  it('are sent when it is available again, each once and in order', async () => {
    const { here, acme, bob } = await begin();
    here.away.set('acme', 'fails');
    const sent: string[] = [];
    for (let i = 0; i < 3; i += 1) sent.push((await acme.send(`${i}`)).id, await acme.notify(`about ${i}`));
    await untilPasses(() => expect(here.asked.length).to.be.greaterThan(2));
    expect(ids(bob)).to.deep.equal([]);
    here.away.delete('acme');
    sent.push((await acme.send('the last')).id);
    await untilPasses(() => expect(ids(bob)).to.deep.equal(sent));
    expect(here.node.logger.lines, 'no line for each try').to.deep.equal([]);
    expect(bob.raw.readyState).to.equal(bob.raw.OPEN);
  });

  for (const fault of ['fails', 'hangs'] as const) {
    it(`do not delay other tenants when it ${fault}`, async () => {
      const { here, acme, other, bob, otherBob } = await begin();
      here.away.set('acme', fault);
      await acme.send('stuck');
      await untilPasses(() => expect(here.asked.length).to.be.greaterThan(0));
      const sent = [(await other.send('one')).id, (await other.send('two')).id];
      await untilPasses(() => expect(ids(otherBob)).to.deep.equal(sent));
      expect(ids(bob)).to.deep.equal([]);
    });

    it(`are followed by a close with 1012 after 10 s when it ${fault}; resuming by position gets each once`, async () => {
      const { here, acme, other, bob, otherBob } = await begin();
      const first = await acme.send('first');
      await bob.messages(1);
      here.away.set('acme', fault);
      const sent = [(await acme.send('stuck')).id, (await acme.send('behind')).id];
      await untilPasses(() => expect(here.asked.length).to.be.greaterThan(1));
      here.time.advance(10_001);
      expect((await bob.closed).code).to.equal(1012);
      expect(ids(bob)).to.deep.equal([first.id]);
      expect(here.node.logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
      here.away.delete('acme');
      const again = await here.connect('acme', 'bob', first.position);
      sent.push((await acme.send('live')).id);
      await untilPasses(() => expect(ids(again)).to.deep.equal(sent));
      const fence = await other.send('fence');
      expect((await otherBob.messages(1))[0]?.message.id, 'others stay').to.equal(fence.id);
    });
  }

  it('do not keep a socket open when its account is deactivated meanwhile', async () => {
    const { here, acme, bob } = await begin();
    here.away.set('acme', 'hangs');
    await acme.send('stuck');
    await untilPasses(() => expect(here.asked.length).to.be.greaterThan(0));
    await acme.deactivate('bob');
    expect((await bob.closed).code).to.equal(4403);
  });

  it('are kept up to a limit, above which only the tenant with the most envelopes is disconnected', async () => {
    const { here, acme, other, bob, otherBob } = await begin();
    here.away.set('acme', 'hangs');
    const large = 'x'.repeat(300_000);
    for (let i = 0; i < 100; i += 1) {
      await acme.send(large);
      if (bob.raw.readyState !== bob.raw.OPEN) break;
    }
    expect((await bob.closed).code).to.equal(1012);
    const fence = await other.send('fence');
    expect((await otherBob.messages(1))[0]?.message.id).to.equal(fence.id);
  });

  it('that can never be built are replaced by a resync, and later ones follow', async () => {
    const { here, acme, bob } = await begin();
    here.away.set('acme', 'damaged');
    const { position } = await acme.send('damaged');
    await untilPasses(() =>
      expect(bob.seen.slice(1)).to.deep.equal([{ kind: 'system', event: 'resync', position }]),
    );
    here.away.delete('acme');
    const fence = await acme.send('fence');
    expect((await bob.messages(1))[0]?.message.id).to.equal(fence.id);
    await severalTicks();
    expect(here.node.logger.lines.map(({ level }) => level)).to.deep.equal(['error']);
  });
});
