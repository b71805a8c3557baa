import { EventEmitter } from 'node:events';
import { mock } from 'node:test';
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
  const begin = () => {
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
    return { thread, workers };
  };

  it('is told of the waiting readers when it is started again', async () => {
    const { thread, workers } = begin();
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

  it('that has ended is not started again after a stop', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { thread, workers } = begin();
      workers[0]?.emit('exit', 1);
      await thread.stop();
      mock.timers.tick(60_000);
      expect(workers).to.have.length(1);
    } finally {
      mock.timers.reset();
    }
  });
});
