import { expect } from 'chai';
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
});
