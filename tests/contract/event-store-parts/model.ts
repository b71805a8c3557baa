import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import type { ExpectedRevision, NewEvent } from '../../../application/ports/event-store.ts';
import { WrongExpectedRevision } from '../../../application/ports/event-store.ts';
import { type Context, follow, idsOf, newPrefix } from './helpers.ts';

const STREAMS = 3;

interface Step {
  readonly stream: number;
  /** The expected revision: the right one, `any`, `no_stream`, or one that is off by a number. */
  readonly expectation: 'right' | 'any' | 'none' | number;
  readonly types: readonly number[];
  /** Repeats an earlier append instead, if there is one. */
  readonly repeat: number | undefined;
}

interface Done {
  readonly stream: number;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
  readonly revision: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  stream: fc.nat(STREAMS - 1),
  expectation: fc.oneof(
    { weight: 5, arbitrary: fc.constant<'right'>('right') },
    fc.constantFrom('any' as const, 'none' as const),
    fc.integer({ min: -3, max: 3 }),
  ),
  types: fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }),
  repeat: fc.option(fc.nat(50), { nil: undefined, freq: 4 }),
});

/** Compares random plans with a simple model: an array of ids per stream, and one for the log. */
export function modelTests({ store }: Context, plans: number): void {
  it('agrees with a model on random plans', async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (plan) => {
        const prefix = newPrefix();
        const after = await store().end();
        const streams: string[][] = Array.from({ length: STREAMS }, () => []);
        const log: { id: string; type: string; stream: string }[] = [];
        const done: Done[] = [];
        for (const one of plan) await run(one);

        async function run({ stream, expectation, types, repeat }: Step): Promise<void> {
          const old = repeat === undefined ? undefined : done[repeat % (done.length || 1)];
          if (old) return retry(old);
          const known = streams[stream] ?? [];
          const expected = expectedOf(expectation, known.length);
          const right = expected === 'any' || known.length === lengthOf(expected);
          const events = types.map((type) => ({
            id: randomUUID(),
            type: `Type${type}`,
            data: `{"t":${type}}`,
            metadata: '{}',
          }));
          const result = await settle(`${prefix}s-${stream}`, expected, events);
          if (!right) return expect(result).to.equal(known.length ? known.length - 1 : 'none') && undefined;
          for (const { id, type } of events) {
            known.push(id);
            log.push({ id, type, stream: `${prefix}s-${stream}` });
          }
          expect(result).to.deep.equal({ revision: known.length - 1 });
          if (expected !== 'any') done.push({ stream, expected, events, revision: known.length - 1 });
        }

        async function retry({ stream, expected, events, revision }: Done): Promise<void> {
          expect(await settle(`${prefix}s-${stream}`, expected, events)).to.deep.equal({ revision });
        }

        async function settle(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]) {
          try {
            return { revision: (await store().append(stream, expected, events)).revision };
          } catch (error) {
            if (error instanceof WrongExpectedRevision) return error.actual ?? 'none';
            throw error;
          }
        }

        for (const [n, known] of streams.entries()) {
          expect(idsOf(await store().readStream(`${prefix}s-${n}`))).to.deep.equal(known);
        }
        const filters = [
          { streamPrefix: prefix },
          { streamPrefix: `${prefix}s-1` },
          { streamPrefix: prefix, types: ['Type0', 'Type2'] },
        ];
        for (const filter of filters) {
          const model = log.filter(
            ({ stream, type }) =>
              stream.startsWith(filter.streamPrefix) && (!filter.types || filter.types.includes(type)),
          );
          expect(idsOf(await store().readAll({ filter }))).to.deep.equal(idsOf(model));
          const back = await store().readAll({ filter, direction: 'backward' });
          expect(idsOf(back)).to.deep.equal(idsOf(model).reverse());
          const followed = await follow(
            store(),
            { after, filter, batchSize: 3 },
            (_, batch) => batch.caughtUp,
          );
          expect(idsOf(followed.events)).to.deep.equal(idsOf(model));
        }
      }),
      { numRuns: plans },
    );
  });
}

function lengthOf(expected: ExpectedRevision): number {
  return typeof expected === 'number' ? expected + 1 : 0;
}

function expectedOf(expectation: Step['expectation'], length: number): ExpectedRevision {
  if (expectation === 'any') return 'any';
  if (expectation === 'none') return 'no_stream';
  const last = length - 1 + (expectation === 'right' ? 0 : expectation);
  return last < 0 ? 'no_stream' : last;
}
