import { answerCalls } from '../../threads/calls.ts';
import { offsetOf } from '../positions.ts';
import { isTransient } from './errors.ts';
import { LogState } from './log-state.ts';
import { openDatabase } from './schema.ts';
import type { ThreadAppends, ThreadWritten } from './threaded-writer.ts';
import { Writer } from './writer.ts';

/** The thread that writes the log; see `threaded-writer.ts`. */
await answerCalls(
  async ({ path, maxPages }: { readonly path: string; readonly maxPages: number | undefined }) => {
    const db = openDatabase(path, maxPages);
    const writer = new Writer(db, new LogState(db));
    return ({ appends }: ThreadAppends): ThreadWritten => {
      try {
        const { outcomes, first } = writer.write(appends);
        return {
          first,
          outcomes: outcomes.map((outcome) =>
            outcome instanceof Error
              ? { wrong: true, actual: outcome.actual }
              : { wrong: false, ...outcome, fresh: offsetOf(outcome.position) >= first },
          ),
        };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return { failed: message, transient: isTransient(error) };
      }
    };
  },
);
