import { ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import { Supervisor } from '../../../api/cluster/supervisor.ts';
import { untilPasses } from '../../support/eventually.ts';
import { testLogger } from '../../support/fakes.ts';

/** A process that runs until it is killed; without an id, its start failed. */
const processOf = (pid: number | undefined): ChildProcess => {
  const child = new ChildProcess();
  const kill = (): boolean => child.emit('exit', 0, null);
  return Object.assign(child, { pid, kill });
};

/** Starts a supervisor of two processes. @param starts makes the processes, in the order of their starts */
const supervise = (...starts: (() => ChildProcess)[]) => {
  let tries = 0;
  const logger = testLogger();
  const settings = { ROLE: 'all', WORKERS: 2, PORT: 0, HOST: '127.0.0.1' } as const;
  const supervisor = new Supervisor(settings, logger, {}, () => {
    tries += 1;
    return starts[tries - 1]?.() ?? processOf(undefined);
  });
  const messages = () => logger.lines.map(({ message }) => message);
  return { supervisor, tries: () => tries, messages, ended: supervisor.run() };
};

const failing = (): ChildProcess => {
  const child = processOf(undefined);
  process.nextTick(() => child.emit('error', new Error('spawn EAGAIN')));
  return child;
};
const throwing = (): ChildProcess => {
  throw new Error('spawn ENOMEM');
};

describe('The supervisor of several processes', () => {
  for (const [how, fails] of [
    ['with an event', failing],
    ['at once', throwing],
  ] as const) {
    it(`restarts a process whose start failed ${how}`, async () => {
      const first = processOf(1);
      const running = () => first;
      const { supervisor, tries, messages, ended } = supervise(running, fails, () => processOf(2));
      await untilPasses(() => expect(tries()).to.equal(1));
      first.emit('message', { kind: 'listening' });
      await untilPasses(() => expect(tries()).to.equal(3));
      supervisor.stop('test');
      expect(await ended).to.equal(0);
      expect(messages()).to.include('a process failed');
    });

    it(`ends when the start of the first process failed ${how}`, async () => {
      const { tries, ended } = supervise(fails);
      expect(await ended).to.equal(1);
      expect(tries()).to.equal(1);
    });
  }
});
