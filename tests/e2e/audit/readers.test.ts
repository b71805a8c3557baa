import { type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { memoryOf } from '../../support/uploads.ts';
import {
  endWorld,
  type Member,
  say,
  startWorld,
  type TestTenant,
  talk,
  type World,
} from '../../support/world.ts';

const EVENTS = '/api/v1/tenant/audit/events';
const NDJSON = 'application/x-ndjson';
const MESSAGES = 2000;
/** Text of a message. Its line in the export has the text and the sealed form, so more than twice the length. */
const BODY = 'x'.repeat(9_900);
/** Exports that one tenant may run at a time (docs/limits.md). */
const READERS = 2;
/** Allows a few MiB per export and uncollected garbage. Both exports held in memory would take more. */
const MOST_MIB = 64;

/** Decisions, section 11. */
describe('An export over HTTP', function () {
  this.timeout(180_000);
  let world: World;
  let home: TestTenant;
  let ada: Member;

  before(async () => {
    world = await startWorld();
    home = await world.tenant();
    ada = await home.person('Ada');
    const room = await talk(ada, await home.person('Ben'));
    for (let sent = 0; sent < MESSAGES; sent += 20) {
      await Promise.all(Array.from({ length: 20 }, () => say(ada, room, BODY)));
    }
  });
  after(endWorld);

  /** Resolves when the answer starts. */
  const begun = (): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const call = request(
        `${world.server.base}${EVENTS}`,
        { headers: { accept: NDJSON, authorization: `Bearer ${home.admin.token}` } },
        (response) => {
          response.on('error', () => undefined);
          resolve(response);
        },
      );
      call.on('error', reject);
      call.end();
    });
  const firstOf = (response: IncomingMessage): Promise<void> =>
    new Promise((resolve) => {
      response.once('data', () => {
        response.pause();
        resolve();
      });
    });
  const lengthOf = async (response: IncomingMessage): Promise<number> => {
    let length = 0;
    for await (const chunk of response) length += (chunk as Buffer).length;
    return length;
  };

  it('uses little memory for slow readers, who get the whole export when they continue', async () => {
    const whole = await lengthOf(await begun());
    expect(whole * READERS).to.be.greaterThan(1.25 * MOST_MIB * 2 ** 20);
    const before = (await memoryOf(world.server)).now;
    const readers = await Promise.all(Array.from({ length: READERS }, begun));
    await Promise.all(readers.map(firstOf));
    // Other requests are answered meanwhile.
    for (let nth = 0; nth < 50; nth += 1) {
      expect((await ada.api.get('/api/v1/tenant/messaging/conversations')).status).to.equal(200);
    }
    expect((await memoryOf(world.server)).now - before).to.be.lessThan(MOST_MIB);
    for (const reader of readers) {
      const rest = lengthOf(reader);
      reader.resume();
      expect(await rest).to.be.greaterThan(whole / 2);
      expect(reader.complete).to.equal(true);
    }
  });

  it('ends when its reader disconnects, and leaves nothing behind', async () => {
    const vanish = async (rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round += 1) {
        const readers = await Promise.all(Array.from({ length: READERS }, begun));
        await Promise.all(readers.map(firstOf));
        for (const reader of readers) reader.destroy();
      }
    };
    // Warm-up: the first exports grow the process once.
    await vanish(8);
    const before = (await memoryOf(world.server)).now;
    // Each reader disconnects after its first chunk, while the server has more to send.
    await vanish(16);
    expect((await memoryOf(world.server)).now - before).to.be.lessThan(MOST_MIB);
    expect(await lengthOf(await begun())).to.be.greaterThan(MESSAGES * BODY.length);
    expect((await world.server.stop()).code).to.equal(0);
  });
});
