import { expect } from 'chai';
import type { Peer } from '../../../api/ws/peer.ts';
import { Peers } from '../../../api/ws/peers.ts';
import { untilPasses } from '../../support/eventually.ts';
import { memoryStores } from '../../support/node.ts';
import { startSocketNode } from '../../support/socket-node.ts';

const HEARTBEAT_MS = 40;

describe('Pings', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  const begin = async () => {
    const here = await startSocketNode(memoryStores(), { heartbeatMs: HEARTBEAT_MS });
    ends.push(here.end);
    return { here, socket: await here.connect('acme', 'bob') };
  };

  it('drop a peer that answers none of them, even if it sends other pongs', async () => {
    const { here, socket } = await begin();
    socket.raw.pause();
    const pongs = setInterval(() => socket.raw.pong('nobody asked'), HEARTBEAT_MS / 4);
    try {
      await untilPasses(() => expect(here.connections.size).to.equal(0));
    } finally {
      clearInterval(pongs);
    }
    socket.raw.resume();
    expect((await socket.closed).code).to.equal(1006);
  });

  it('keep a peer that answers each with its payload', async () => {
    const { socket } = await begin();
    const texts = new Set<string>();
    socket.raw.on('ping', (payload: Buffer) => texts.add(payload.toString('hex')));
    await untilPasses(() => expect(texts.size).to.be.greaterThan(5));
    expect(socket.raw.readyState).to.equal(socket.raw.OPEN);
  });

  it('of many peers are sent over several ticks', async () => {
    const peers = new Peers({ perUser: 1000, perTenant: 1000 });
    let tick = 0;
    const pinged = new Map<number, number>();
    const ping = () => pinged.set(tick, (pinged.get(tick) ?? 0) + 1);
    for (let nth = 0; nth < 450; nth += 1) {
      // Only these members are used.
      peers.add({ tenantId: 'acme', userId: 'bob', ping } as unknown as Peer);
    }
    let isOver = false;
    const count = () => {
      tick += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await peers.ping();
    isOver = true;
    expect([...pinged.values()].reduce((sum, each) => sum + each)).to.equal(450);
    expect(Math.max(...pinged.values())).to.be.at.most(100);
  });
});
