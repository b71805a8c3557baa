import { expect } from 'chai';
import fc from 'fast-check';
import { memoryStores, startNode } from '../support/node.ts';
import { open, parseEnvelope } from '../support/socket.ts';
import { startSocketNode, writerOf } from '../support/socket-node.ts';

const START = '0000000000000000';
const steps = fc.array(
  fc.oneof(
    fc.record({ what: fc.constant('send' as const), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ what: fc.constant('notify' as const) }),
    fc.record({ what: fc.constant('elsewhere' as const) }),
    /** The server ends, with 1012 for the connected client, and starts again. */
    fc.record({ what: fc.constant('restart' as const) }),
    /** Connects, and disconnects after this many frames (`ready` is the first), or when no frame is left. */
    fc.record({ what: fc.constant('read' as const), frames: fc.integer({ min: 1, max: 6 }) }),
  ),
  { minLength: 5, maxLength: 25 },
);

describe('A client that keeps its last position', () => {
  it('gets each envelope exactly once, wherever its connections break', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (history, racing) => {
        const stores = memoryStores();
        let here = await startSocketNode(stores);
        const node = startNode(stores);
        const [acme, other] = [writerOf(node, 'acme'), writerOf(node, 'other')];
        await acme.start();
        await other.start();
        const sent: string[] = [];
        const got: string[] = [];
        let last = START;
        const read = (isEnough: (frames: number) => boolean): Promise<void> =>
          new Promise((resolve, reject) => {
            const raw = open(here.server, here.token('acme', 'bob'), { after: last });
            let frames = 0;
            const cut = (): void => {
              raw.removeAllListeners('message');
              raw.terminate();
              resolve();
            };
            raw.on('error', reject);
            raw.on('close', (code) => {
              if (code === 1012) resolve();
            });
            raw.on('message', (data) => {
              const one = parseEnvelope(String(data));
              frames += 1;
              try {
                expect(one.position >= last, 'positions never go back').to.equal(true);
                if (frames === 1)
                  expect(one).to.deep.equal({ kind: 'system', event: 'ready', position: last });
                else expect(one.kind).not.to.equal('system');
              } catch (error) {
                reject(error);
              }
              last = one.position;
              if (one.kind === 'message') got.push(one.message.id);
              if (one.kind === 'notification') got.push(one.notification.id);
              if (isEnough(frames)) cut();
            });
          });
        try {
          for (const step of history) {
            if (step.what === 'restart') {
              // The client has seen a frame, and continues to read until it is asked to reconnect.
              const seen = Promise.withResolvers<void>();
              const reading = read(() => {
                seen.resolve();
                return false;
              });
              await seen.promise;
              await here.end();
              await reading;
              here = await startSocketNode(stores);
            } else if (step.what === 'elsewhere') await other.send('not for acme');
            else if (step.what === 'notify') sent.push(await acme.notify('x'));
            else if (step.what === 'send') {
              for (let i = 0; i < step.count; i += 1) sent.push((await acme.send('x')).id);
            } else {
              const reading = read((frames) => frames >= step.frames || got.length >= sent.length);
              // Some messages arrive live, or during the replay.
              if (racing) sent.push((await acme.send('meanwhile')).id);
              await reading;
            }
          }
          sent.push((await acme.send('the last')).id);
          await read(() => got.length >= sent.length);
          expect(got).to.deep.equal(sent);
        } finally {
          await here.end();
        }
      }),
      { numRuns: 25 },
    );
  }).timeout(120_000);
});
