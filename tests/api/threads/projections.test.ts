import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { startProjections, type ToProjections } from '../../../api/threads/projections.ts';
import { readConfig } from '../../../infrastructure/config.ts';
import { formatPosition, isPosition } from '../../../infrastructure/event-store/positions.ts';
import { untilPasses } from '../../support/eventually.ts';
import { silentMetrics, testLogger } from '../../support/fakes.ts';

class FakeWorker extends EventEmitter {
  readonly received: ToProjections[] = [];

  postMessage(message: ToProjections): void {
    this.received.push(message);
    if (message.kind === 'stop') this.emit('exit', 0);
  }
}

describe('The thread of the projections', () => {
  it('is told of the waiting readers when it is started again', async () => {
    const workers: FakeWorker[] = [];
    const thread = startProjections(
      { config: readConfig({}), lease: { owner: 'test', ttlMs: 1000, lingerMs: 1 } },
      {
        logger: testLogger(),
        metrics: silentMetrics,
        parsePosition: (text) => (isPosition(text) ? text : undefined),
        startWorker: () => {
          const worker = new FakeWorker();
          workers.push(worker);
          return worker;
        },
      },
    );
    const readers = () => workers.map(({ received }) => received.filter(({ kind }) => kind === 'reader'));
    const reader = thread.folding.find(({ name }) => name === 'users');
    const waits = reader?.nextProgress(60_000);
    const begins = { kind: 'reader', projection: 'users', isWaiting: true };
    expect(readers()).to.deep.equal([[begins]]);
    workers[0]?.emit('exit', 1);
    await untilPasses(() => expect(workers).to.have.length(2));
    expect(readers()[1]).to.deep.equal([begins]);
    const made = { projection: 'users', tag: 'v1', checkpoint: formatPosition(1), parked: [] };
    workers[1]?.emit('message', { kind: 'progress', made: [made] });
    await waits;
    expect(readers()[1]).to.deep.equal([begins, { ...begins, isWaiting: false }]);
    await thread.stop();
  });
});
