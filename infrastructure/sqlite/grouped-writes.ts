import type { SqliteConnection } from './connection.ts';
import { Gathering } from './gathering.ts';

interface Waiting {
  run(): void;
  done(): void;
  failed(error: unknown): void;
}

/** Writes of many requests share one transaction, and so one fsync; each is answered after it. */
export function groupedWrites(connection: SqliteConnection): <T>(write: () => T) => Promise<T> {
  let waiting: Waiting[] = [];
  let flushing = false;
  const gathering = new Gathering(
    () => waiting.length,
    () => void flush(),
  );

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      const began = performance.now();
      try {
        await connection.write(() => {
          for (const each of group) each.run();
        });
        gathering.committed(group.length, performance.now() - began);
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
      gathering.start();
    });
}
