import { nodeTimers, useTimers } from '../../application/core/runtime/timers.ts';

/** Counts the ticks of the event loop while `work` runs. Each look at the clock takes 1 ms, so slices end soon. */
export const ticksDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let now = nodeTimers.monotonic();
  let ticks = 0;
  let isOver = false;
  const tick = (): void => {
    ticks += 1;
    if (!isOver) setImmediate(tick);
  };
  const restore = useTimers({
    ...nodeTimers,
    monotonic: () => {
      now += 1;
      return now;
    },
  });
  setImmediate(tick);
  try {
    await work();
    return ticks;
  } finally {
    isOver = true;
    restore();
  }
};
