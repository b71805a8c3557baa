import { expect } from 'chai';
import { watchEventLoop } from '../../api/event-loop.ts';
import { mark } from '../../application/core/concurrency/tick-marks.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { busyFor } from './busy.ts';
import { untilPasses } from './eventually.ts';
import { TICK_BOUND_MS, ticksIn, tooLong } from './tick-check.ts';

const STARTED = '{"level":"info","msg":"listening"}\n';

describe('The check of long ticks', () => {
  it('reads what servers log, and fails a run only beyond the bound', async () => {
    let text = STARTED;
    const stop = watchEventLoop(
      { eventLoopBlocked: () => undefined },
      createLogger('debug', { write: (line) => (text += line) }),
    );
    try {
      for (const [code, ms] of [
        ['shortExport', 60],
        ['longExport', 1.5 * TICK_BOUND_MS],
      ] as const) {
        mark(code);
        busyFor(ms);
        await untilPasses(() => expect(text).to.include(code));
      }
    } finally {
      stop();
    }
    const ticks = ticksIn(text, () => 'a test');
    expect(ticks.map(({ code }) => code)).to.include.members(['shortExport', 'longExport']);
    expect(tooLong(ticks).map(({ code, test }) => [code, test])).to.deep.equal([['longExport', 'a test']]);
  });

  it('ignores the start of a server', () => {
    const line = `{"level":"warn","code":"other","ms":${2 * TICK_BOUND_MS},"msg":"a long tick"}\n`;
    expect(tooLong(ticksIn(line + STARTED, () => ''))).to.deep.equal([]);
    expect(tooLong(ticksIn(STARTED + line, () => ''))).to.have.length(1);
  });
});
