import type { SqliteConnection } from './connection.ts';

interface Waiting {
  /** Runs the write. Returns the function that answers its caller. */
  run(): () => void;
  reject(error: unknown): void;
}

/**
 * Runs writes of many requests in one transaction, which needs one fsync. Each request is answered after the commit; if
 * one write throws, all writes of the transaction fail.
 */
export function groupedWrites(connection: SqliteConnection): <T>(write: () => T) => Promise<T> {
  let waiting: Waiting[] = [];
  let flushing = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        const answers = await connection.write(() => group.map(({ run }) => run()));
        for (const answer of answers) answer();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    flushing = false;
  }

  return <T>(write: () => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const run = () => {
        const result = write();
        return () => resolve(result);
      };
      waiting.push({ run, reject });
      if (flushing) return;
      flushing = true;
      setImmediate(flush);
    });
}
