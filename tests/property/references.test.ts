import { expect } from 'chai';
import fc from 'fast-check';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { crashingAt, seeded, withRandomYields } from '../application/entities/faults.ts';
import {
  defineNodes,
  type Entities,
  flawsIn,
  request,
  startEntities,
  TENANT,
} from '../application/entities/support.ts';

/** A random command; `who` and `to` choose among the existing records. */
interface Step {
  readonly kind: 'create' | 'update' | 'delete';
  readonly node: 0 | 1;
  readonly who: number;
  readonly field: 'cascade' | 'clear' | 'restrict';
  /** Null clears the reference. */
  readonly to: number | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('create' as const, 'create' as const, 'update' as const, 'delete' as const),
  node: fc.constantFrom(0 as const, 1 as const),
  who: fc.nat(30),
  field: fc.constantFrom('cascade' as const, 'clear' as const, 'restrict' as const),
  to: fc.option(fc.nat(30), { freq: 6 }),
});
/** Steps of one round start at the same moment. */
const story = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 8 });

const EXPECTED: ReadonlySet<string> = new Set([
  'not_found',
  'constraint_violated',
  'in_use',
  'conflict',
  'unavailable',
]);

describe('References between records', () => {
  it('never dangle, and versions count each change, under concurrency and crashes', async () => {
    await fc.assert(
      fc.asyncProperty(
        story,
        fc.nat(),
        fc.option(fc.integer({ min: 1, max: 40 })),
        fc.boolean(),
        async (rounds, seed, death, isDone) => {
          const base = startEntities();
          await defineNodes(base);
          const between = withRandomYields(seeded(seed));
          const dying = crashingAt(death ?? Infinity, isDone);
          const nodes = [
            startEntities(base.shared, between, 100),
            startEntities(base.shared, (events) => between(dying.wrap(events))),
          ] as const;
          const ids: string[] = [];
          for (let n = 0; n < 5; n += 1)
            ids.push((await base.records.create(TENANT, 'node', {}, request())).record.id);
          const idAt = (n: number): string | undefined => ids[n % Math.max(1, ids.length)];

          const run = async ({ kind, node: at, who, field, to }: Step): Promise<void> => {
            const node: Entities = nodes[at];
            const id = idAt(who);
            const values = { [field]: to === null ? null : idAt(to), n: to };
            if (kind === 'create') {
              ids.push((await node.records.create(TENANT, 'node', values, request())).record.id);
            } else if (id !== undefined && kind === 'update') {
              await node.records.update(TENANT, 'node', id, { values }, request());
            } else if (id !== undefined) await node.deletions.delete(TENANT, 'node', id, {}, request());
          };
          const tolerant = (error: unknown): void => {
            const isExpected = error instanceof DomainError && EXPECTED.has(error.code);
            if (!isExpected && !(error instanceof StoreUnavailable)) throw error;
          };
          // Another process's subscriber gets every event once, while requests are under way.
          const follower = startEntities(base.shared, between);
          let told = 0;
          const follow = async (): Promise<void> => {
            told = await follower.deliver(told);
          };
          for (const steps of rounds) {
            let isOver = false;
            const following = (async () => {
              while (!isOver) {
                await follow();
                await new Promise((resolve) => setImmediate(resolve));
              }
            })();
            await Promise.all(steps.map((each) => run(each).catch(tolerant)));
            isOver = true;
            await following;
          }
          await follow();
          expect(await flawsIn(base)).to.deep.equal([]);
        },
      ),
      { numRuns: 50 },
    );
  }).timeout(120_000);
});
