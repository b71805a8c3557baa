import { withLogOf } from '../../support/log-of.ts';
import { eventually } from '../../support/server.ts';
import type { TestTenant, World } from '../../support/world.ts';

/** Runs `work` on the items, at most `atOnce` at a time; they start in order. */
export const pooled = async <T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> => {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at];
      if (item !== undefined) await work(item);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
};

export const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);

/** How often a tenant's log holds a type of event. */
const countOf = (world: World, { id }: TestTenant, type: string): Promise<number> =>
  withLogOf(world.server, async (log) => {
    const filter = { streamPrefix: `${id}.`, types: [type] };
    return (await log.readAll({ filter, limit: 1_000_000 })).length;
  });

/** Waits until a tenant's log holds `count` events of a type, which means that the work is done. */
export const allDone = (world: World, tenant: TestTenant, type: string, count: number, withinMs: number) =>
  eventually(
    `${count} events ${type}`,
    async () => {
      const found = await countOf(world, tenant, type);
      if (found > count) throw new Error(`${found} events ${type} and not ${count}`);
      return found === count;
    },
    withinMs,
  );

/** How many of the busy tenant's events of a type follow the quiet tenant's first one in the log. */
export const doneAfter = (
  world: World,
  type: string,
  { quiet, busy }: { readonly quiet: TestTenant; readonly busy: TestTenant },
): Promise<number> =>
  withLogOf(world.server, async (log) => {
    const events = await log.readAll({ filter: { types: [type] }, limit: 1_000_000 });
    const first = events.findIndex(({ stream }) => stream.startsWith(`${quiet.id}.`));
    if (first < 0) return 0;
    return events.slice(first).filter(({ stream }) => stream.startsWith(`${busy.id}.`)).length;
  });
