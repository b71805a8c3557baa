/**
 * Fails a run in which the event loop of a test server stood still (decision 38): servers log their long ticks with the
 * code that ran (`api/event-loop.ts`). The times are processor time of one piece of code, so that other processes do
 * not affect them, and the bound is far above the budget of 20 ms, for slow machines. `TEST_TICKS=1` prints all long
 * ticks of a run.
 */

export interface LongTick {
  readonly code: string;
  readonly ms: number;
  /** The test that ran. */
  readonly test: string;
}

/** Fifteen times the budget. */
export const TICK_BOUND_MS = 300;

/** Code that may take longer, with its reason. */
const EXCUSED: ReadonlyMap<string, string> = new Map();

const TICK = /"code":"(\w+)","ms":(\d+)[^\n]*"msg":"a long tick"/g;
/** Lines of a server's log before this one belong to its start. */
const LISTENING = /"msg":"listening"/;

/** The long ticks after a server's start. @param testAt the test that ran at an index of the text */
export const ticksIn = (text: string, testAt: (at: number) => string): LongTick[] => {
  const started = LISTENING.exec(text)?.index ?? text.length;
  return [...text.matchAll(TICK)]
    .filter(({ index }) => index > started)
    .map(({ 1: code = '', 2: ms, index }) => ({ code, ms: Number(ms), test: testAt(index) }));
};

/** The ticks that fail a run. */
export const tooLong = (ticks: readonly LongTick[]): LongTick[] =>
  ticks.filter(({ code, ms }) => ms > TICK_BOUND_MS && !EXCUSED.has(code));

const found: LongTick[] = [];

export const noteTicks = (ticks: readonly LongTick[]): void => {
  for (const tick of ticks) found.push(tick);
};

const shown = ({ code, ms, test }: LongTick): string =>
  `  ${code} held the event loop for ${ms} ms in ${test}`;

/** @throws when a tick was too long */
export const demandShortTicks = (): void => {
  const sorted = found.toSorted((a, b) => b.ms - a.ms);
  if (process.env.TEST_TICKS === '1') process.stdout.write(`long ticks:\n${sorted.map(shown).join('\n')}\n`);
  const wrong = tooLong(sorted);
  if (wrong.length === 0) return;
  throw new Error(`Servers of the tests stood still:\n${wrong.map(shown).join('\n')}`);
};
