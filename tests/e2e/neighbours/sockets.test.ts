import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, startWorld } from '../../support/world.ts';
import { meanwhile, readNothing, type Silent } from './support.ts';

const SOCKETS = 80;

describe('Sockets that replay', function () {
  this.timeout(90_000);
  const here = forSuite(() => adaAndBen(startWorld));
  let start = '';

  before(async () => {
    const { ben, id } = here();
    const body = '\u{1F4E6}'.repeat(9_900);
    for (let at = 0; at < 450; at += 30) {
      const sent = await Promise.all(
        Array.from({ length: 30 }, () => ben.api.post(`${BASE}/${id}/messages`, { body })),
      );
      if (start === '') start = sent[0]?.header('x-event-position') ?? '';
    }
  });

  const upgrade = (token: string, after: string): Promise<Silent> =>
    readNothing(
      here().world.server,
      `GET /api/v1/ws?token=${token}&after=${after} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n` +
        `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
  const open = async (): Promise<number> => {
    const { text } = await here().world.anybody.get('/metrics');
    return Number(/^workflow_websockets_open (\d+)$/m.exec(text)?.[1]);
  };
  /** A masked pong without a payload. */
  const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

  it('take little memory when they are never read, and are closed whatever they send', async () => {
    const { world, ada } = here();
    const { grownMiB, blockedBy } = await meanwhile(world.server, async () => {
      const silent = await Promise.all(Array.from({ length: SOCKETS }, () => upgrade(ada.token, start)));
      const pongs = setInterval(() => {
        for (const { socket } of silent) socket.write(PONG);
      }, 200);
      await eventually('they are open', async () => (await open()) >= SOCKETS);
      try {
        // Eight replays of a person run at a time: those of the first sockets, which are then closed.
        await eventually('the first are closed', async () => (await open()) <= SOCKETS - 8, 40_000);
      } finally {
        clearInterval(pongs);
      }
      for (const { socket } of silent) socket.destroy();
    });
    // Most of the growth is texts that were read and wait for the garbage collector.
    expect(grownMiB).to.be.below(600);
    expect(blockedBy).to.deep.equal([]);
  });

  it('hold no tick for long when they pass over events of other people', async () => {
    const { world, tenant } = here();
    const carl = await tenant.person('Carl');
    const before = await cpuSeconds();
    const { result, blockedBy } = await meanwhile(world.server, async () => {
      const silent = await Promise.all(Array.from({ length: 100 }, () => upgrade(carl.token, start)));
      await eventually('all are open', async () => (await open()) >= 100, 15_000);
      await new Promise((resolve) => setTimeout(resolve, 3000));
      for (const { socket } of silent) socket.destroy();
      return (await cpuSeconds()) - before;
    });
    expect(result).to.be.below((await atPresentPace(6000)) / 1000);
    // Replays have a code of their own; garbage collection counts as `other`.
    expect(blockedBy.filter((code) => code !== 'other')).to.deep.equal([]);
  });

  const cpuSeconds = async (): Promise<number> => {
    const { text } = await here().world.anybody.get('/metrics');
    return Number(/^process_cpu_seconds_total ([\d.]+)/m.exec(text)?.[1]);
  };
});
