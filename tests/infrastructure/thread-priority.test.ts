import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';

/** Field 19 of Linux's `stat`, counted from the end of field 2, the name, which may contain spaces. */
const niceness = (stat: string): number => Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);

describe('The priority of a thread', () => {
  it('is lowered for this thread alone', async function () {
    if (process.platform !== 'linux') this.skip();
    const before = niceness(readFileSync('/proc/thread-self/stat', 'utf8'));
    const file = new URL('../../infrastructure/thread-priority.ts', import.meta.url).href;
    const worker = new Worker(
      `import(${JSON.stringify(file)}).then(({ yieldToOtherThreads }) => {
        yieldToOtherThreads(10);
        const { readFileSync } = require('node:fs');
        require('node:worker_threads').parentPort.postMessage(readFileSync('/proc/thread-self/stat', 'utf8'));
      })`,
      { eval: true },
    );
    const [stat] = await once(worker, 'message');
    await worker.terminate();
    expect(niceness(String(stat))).to.equal(Math.max(before, 10));
    expect(niceness(readFileSync('/proc/thread-self/stat', 'utf8'))).to.equal(before);
  });
});
