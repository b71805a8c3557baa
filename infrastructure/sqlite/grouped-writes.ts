import type { SqliteConnection } from './connection.ts';

interface Waiting {
  run(): void;
  done(): void;
  failed(error: unknown): void;
}

/** Runs writes of many requests in one transaction, and so one fsync; each is answered afterwards. */
export function groupedWrites(connection: SqliteConnection): <T>(write: () => T) => Promise<T> {
  let waiting: Waiting[] = [];
  let flushing = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        await connection.write(() => {
          for (const each of group) each.run();
        });
        for (const each of group) each.done();
      } catch (error) {
        for (const each of group) each.failed(error);
      }
    }
    flushing = false;
  }

  return <T>(write: () => T): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      let answer = (): void => undefined;
      const run = (): void => {
        const result = write();
        answer = () => resolve(result);
      };
      waiting.push({ run, done: () => answer(), failed: reject });
      if (flushing) return;
      flushing = true;
      setImmediate(flush);
    });
}
