/** Flushes per second at most. */
const PER_SECOND = 4;
/** Maximum of items kept between two flushes; older ones are dropped. */
const MOST = 20_000;

/**
 * Collects items and hands them over a few times a second, in an animation frame, so that rendering never falls behind.
 * @param flush gets the items in their order, and how many were dropped before them
 */
export const batches = <T>(flush: (items: readonly T[], dropped: number) => void) => {
  let waiting: T[] = [];
  let dropped = 0;
  let last = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let frame: number | undefined;
  const run = (): void => {
    timer = undefined;
    last = performance.now();
    const [items, lost] = [waiting, dropped];
    waiting = [];
    dropped = 0;
    flush(items, lost);
  };
  return {
    push: (items: readonly T[]): void => {
      if (items.length === 0) return;
      waiting = waiting.concat(items);
      if (waiting.length > MOST) {
        dropped += waiting.length - MOST;
        waiting = waiting.slice(-MOST);
      }
      if (timer !== undefined) return;
      const wait = Math.max(0, last + 1000 / PER_SECOND - performance.now());
      timer = setTimeout(() => {
        // A page in the background gets no animation frames.
        if (document.hidden) run();
        else frame = requestAnimationFrame(run);
      }, wait);
    },
    end: (): void => {
      clearTimeout(timer);
      if (frame !== undefined) cancelAnimationFrame(frame);
    },
  };
};
