import type { Server } from 'node:http';
import {
  clearInterval,
  clearTimeout,
  monotonic,
  setInterval,
  setTimeout,
} from '../application/core/runtime/timers.ts';
import type { Logger } from '../application/ports/logger.ts';
import { openConnections, stopListening } from './http/listening.ts';

/** Connections that a stop has cut, and work that it has not ended. */
export interface Left {
  /** Connections that were cut with a request under way. */
  readonly cut_connections: number;
  /** Background work that did not end. */
  readonly unfinished_work: number;
}

interface Stoppable {
  stop(): Promise<void>;
  readonly left: Left;
}

/** Time (ms) after which a hanging stop is ended by force. */
const FORCED_MS = 9500;
/** Time (ms) that a stop waits for open requests. */
const DRAIN_MS = 6000;

/** Signals that stop the server. A terminal sends SIGINT and SIGHUP to all processes that it started. */
export const STOPPING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * Ends the process on a signal, also during the start: the first process of a container would otherwise ignore
 * signals. The last line of the log tells how long the stop took and which work it left.
 * @param isMember whether this process is one of a group; it then stops only on SIGTERM, or when its supervisor ends
 * @returns a function that receives the platform once it exists
 */
export const stopOnSignals = (logger: Logger, isMember: boolean): ((platform: Stoppable) => void) => {
  let running: Stoppable | undefined;
  let stopping = false;
  const end = async (reason: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    const began = monotonic();
    const ended = () => ({
      reason,
      ms: Math.round(monotonic() - began),
      ...(running?.left ?? { cut_connections: 0, unfinished_work: 0 }),
    });
    logger.info({ reason }, 'stopping');
    setTimeout(() => {
      logger.error(ended(), 'stopped by force');
      process.exit(1);
    }, FORCED_MS).unref();
    try {
      await running?.stop();
      logger.info(ended(), 'stopped');
      process.exit(0);
    } catch (error) {
      logger.error({ ...ended(), err: error }, 'stopping failed');
      process.exit(1);
    }
  };
  for (const signal of STOPPING) {
    process.on(signal, () => {
      if (!isMember || signal === 'SIGTERM') void end(signal);
    });
  }
  // Emitted only in a process of a group, when its supervisor ends.
  process.once('disconnect', () => void end('the supervisor has ended'));
  return (platform) => {
    running = platform;
  };
};

/**
 * Waits for open requests, bounded so that the process ends within ten seconds.
 * @returns how many connections were cut with a request under way
 */
export const closeServer = async (server: Server): Promise<number> => {
  if (!server.listening) return 0;
  let cut = 0;
  const closed = stopListening(server);
  // Connections that were busy when the server closed become idle later, so idle connections are closed repeatedly.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const cutOff = setTimeout(() => {
    void openConnections(server).then((count) => {
      cut = count;
      server.closeAllConnections();
    });
  }, DRAIN_MS);
  await closed;
  clearInterval(idle);
  clearTimeout(cutOff);
  return cut;
};
