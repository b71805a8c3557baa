import { expect } from 'chai';
import { textFrame } from '../../../api/ws/frame.ts';
import { Peer } from '../../../api/ws/peer.ts';
import { formatPosition } from '../../../infrastructure/event-store/positions.ts';
import { untilPasses } from '../../support/eventually.ts';
import { memoryStores, startNode } from '../../support/node.ts';
import type { Listening } from '../../support/socket.ts';
import { type SocketNode, startSocketNode, writerOf } from '../../support/socket-node.ts';

const START = '0000000000000000';
/** More envelopes than the buffers at both ends of a loopback connection hold. */
const MANY = 900;
const LARGE = 'x'.repeat(40_000);

describe('A replay', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  const begin = async () => {
    const stores = memoryStores();
    const here: SocketNode = await startSocketNode(stores);
    ends.push(here.end);
    const writer = writerOf(startNode(stores), 'acme');
    await writer.start();
    return { stores, here, writer };
  };
  const bodies = (socket: Listening) =>
    socket.seen.flatMap((one) => (one.kind === 'message' ? [one.message.body] : []));
  const sendMany = async (writer: ReturnType<typeof writerOf>, count: number) => {
    const sent = [];
    for (let i = 0; i < count; i += 1) sent.push(await writer.send(`${i} ${LARGE}`));
    return sent;
  };
  /** Bob, connected after the beginning; reads one message, and then nothing until resumed. */
  const slowBob = async (here: SocketNode): Promise<Listening> => {
    const socket = await here.connect('acme', 'bob', START);
    socket.raw.once('message', () => socket.raw.pause());
    await untilPasses(() => expect(socket.raw.isPaused).to.equal(true));
    return socket;
  };
  /** Waits until the server can send no more: the buffers of the reader and of the server are full. */
  const untilStuck = (here: SocketNode) =>
    untilPasses(async () => {
      const before = [...here.connections].map((one) => one.bytesWritten);
      expect([...here.connections].every((one) => one.writableLength > 0)).to.equal(true);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect([...here.connections].map((one) => one.bytesWritten)).to.deep.equal(before);
    });

  it('sends no text whose deletion was answered while its reader was slow', async () => {
    const { here, writer } = await begin();
    const sent = await sendMany(writer, MANY);
    const socket = await slowBob(here);
    await untilStuck(here);
    const gone = sent.slice(-2);
    for (const { id } of gone) await here.node.keys.destroy(`acme/message-${id}`);
    socket.raw.resume();
    const fence = await writer.send('fence');
    await untilPasses(() => expect(socket.seen.at(-1)).to.include({ position: fence.position }));
    expect(socket.seen).to.have.length(1 + MANY - gone.length + 1);
    expect(bodies(socket).filter((body) => body.startsWith(`${MANY - 1} `))).to.deep.equal([]);
  }).timeout(60_000);

  it('empties a snippet whose text was deleted while its reader was slow', async () => {
    const { here, writer } = await begin();
    await sendMany(writer, MANY);
    const id = await writer.notify('a secret');
    const socket = await slowBob(here);
    await untilStuck(here);
    await here.node.keys.destroy(`acme/message-${id}`);
    socket.raw.resume();
    const found = await untilPasses(() => {
      const last = socket.seen.at(-1);
      if (last?.kind !== 'notification') throw new Error('not yet');
      return last.notification;
    });
    expect(found).to.include({ id, snippet: '' });
  }).timeout(60_000);

  it('opens each text when its frame is sent: a stalled reader has one frame waiting', async () => {
    const { here, writer } = await begin();
    await sendMany(writer, MANY);
    const readers = await Promise.all(Array.from({ length: 8 }, () => slowBob(here)));
    await untilStuck(here);
    expect(new Set(here.asked).size).to.be.lessThan(MANY);
    for (const { writableLength } of here.connections) {
      expect(writableLength).to.be.within(1, 2 * LARGE.length);
    }
    for (const { raw } of readers) raw.terminate();
  }).timeout(60_000);

  it('closes with 4413 a reader that takes nothing for 8 s, even if it sends pongs', async () => {
    const { here, writer } = await begin();
    await sendMany(writer, MANY);
    const socket = await slowBob(here);
    await untilStuck(here);
    here.time.advance(7000);
    socket.raw.pong('nobody asked');
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(here.connections.size, 'not before').to.equal(1);
    here.time.advance(1001);
    await untilPasses(() => expect(here.connections.size).to.equal(0));
    expect(here.asked.length).to.be.lessThan(MANY);
    socket.raw.resume();
    expect((await socket.closed).code).to.be.oneOf([4413, 1006]);
  }).timeout(60_000);

  it('is followed by later envelopes in order, each once, for a slow reader', async () => {
    const { here, writer } = await begin();
    const sent = await sendMany(writer, MANY);
    const socket = await slowBob(here);
    await untilStuck(here);
    for (let i = 0; i < 20; i += 1) sent.push(await writer.send(`later ${i}`));
    await untilPasses(async () => expect(here.feed.position).to.equal(await here.node.events.end()));
    expect(here.asked.length, 'none is opened beforehand').to.be.lessThan(MANY);
    socket.raw.resume();
    sent.push(await writer.send('the last'));
    const got = await socket.messages(sent.length, 20_000);
    expect(got.map((one) => one.message.id)).to.deep.equal(sent.map(({ id }) => id));
    expect(got.map((one) => one.position)).to.deep.equal(sent.map(({ position }) => position));
  }).timeout(60_000);

  it('is followed by a resync in place of later envelopes once it and they exceed 1,000', async () => {
    const { here, writer } = await begin();
    await sendMany(writer, MANY);
    const socket = await slowBob(here);
    await untilStuck(here);
    for (let i = MANY; i < 1001; i += 1) await writer.send('x');
    const position = await here.node.events.end();
    await untilPasses(() => expect(here.feed.position).to.equal(position));
    socket.raw.resume();
    const resync = { kind: 'system', event: 'resync', position };
    await untilPasses(() => expect(socket.seen.at(-1)).to.deep.equal(resync));
    expect(here.positions, 'reads over REST show what it stands for').to.include(position);
    expect(socket.seen).to.have.length(1 + MANY + 1);
    const fence = await writer.send('fence');
    await untilPasses(() => expect(socket.seen.at(-1)).to.include({ position: fence.position }));
  }).timeout(60_000);

  it('is followed by an envelope that arrives in the tick of its end', async () => {
    const { here, writer } = await begin();
    await writer.send('missed');
    const position = formatPosition(1000);
    const resync = { kind: 'system', event: 'resync', position };
    const { replayed } = Peer.prototype;
    Peer.prototype.replayed = function (through): void {
      replayed.call(this, through);
      queueMicrotask(() => this.deliver(position, textFrame(JSON.stringify(resync))));
    };
    try {
      const socket = await here.connect('acme', 'bob', START);
      await untilPasses(() => expect(socket.seen.at(-1)).to.deep.equal(resync));
      expect(bodies(socket)).to.deep.equal(['missed']);
    } finally {
      Peer.prototype.replayed = replayed;
    }
  });

  it('waits while a store is unavailable, and continues afterwards', async () => {
    const { here, writer } = await begin();
    const sent = [await writer.send('one'), await writer.send('two')];
    here.away.set('acme', 'fails');
    const socket = await here.connect('acme', 'bob', START);
    await untilPasses(() => expect(here.asked.length).to.be.greaterThan(1));
    here.away.delete('acme');
    const got = await socket.messages(2);
    expect(got.map((one) => one.message.id)).to.deep.equal(sent.map(({ id }) => id));
  });

  it('closes with 1012 when a store is unavailable for more than 10 s', async () => {
    for (const fault of ['fails', 'hangs'] as const) {
      const { here, writer } = await begin();
      await writer.send('one');
      here.away.set('acme', fault);
      const socket = await here.connect('acme', 'bob', START);
      await untilPasses(() => expect(here.asked.length).to.be.greaterThan(0));
      here.time.advance(10_001);
      expect((await socket.closed).code).to.equal(1012);
      expect(here.node.logger.lines).to.have.length(1);
    }
  });

  it('has a resync for an envelope that can never be built, and continues', async () => {
    const { here, writer } = await begin();
    await writer.send('damaged');
    here.away.set('acme', 'damaged');
    const socket = await here.connect('acme', 'bob', START);
    await untilPasses(() => expect(socket.seen[1]).to.include({ kind: 'system', event: 'resync' }));
    here.away.delete('acme');
    const fence = await writer.send('fence');
    expect((await socket.messages(1))[0]?.message.id).to.equal(fence.id);
  });

  it('from a position after the log’s end is a resync, followed by live envelopes', async () => {
    const { here, writer } = await begin();
    const before = await writer.send('before');
    await untilPasses(() => expect(here.feed.position).to.equal(before.position));
    const socket = await here.connect('acme', 'bob', '00000000ffffffff');
    expect(socket.readyAt).to.equal('00000000ffffffff');
    await untilPasses(() =>
      expect(socket.seen[1]).to.deep.equal({ kind: 'system', event: 'resync', position: before.position }),
    );
    const fence = await writer.send('fence');
    expect((await socket.messages(1))[0]?.message.id).to.equal(fence.id);
  });

  it('is empty without a position: ready has the end of the log, and live envelopes follow', async () => {
    const { here, writer } = await begin();
    const before = await writer.send('before');
    await untilPasses(() => expect(here.feed.position).to.equal(before.position));
    const socket = await here.connect('acme', 'bob');
    expect(socket.readyAt).to.equal(before.position);
    const fence = await writer.send('fence');
    expect((await socket.messages(1))[0]?.message.id).to.equal(fence.id);
    expect(socket.seen).to.have.length(2);
  });

  it('without a position lets reads over REST include what came before ready', async () => {
    const { here, writer } = await begin();
    const before = await writer.send('before');
    await untilPasses(() => expect(here.feed.position).to.equal(before.position));
    await here.connect('other', 'bob');
    expect(here.positions, 'of another tenant').to.deep.equal([]);
    await here.connect('acme', 'bob');
    expect(here.positions).to.deep.equal([before.position]);
  });
});
