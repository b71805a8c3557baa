/**
 * Collects items and hands them over at most `perSecond` times a second, in an animation frame, so that rendering
 * never falls behind.
 */
export interface Batches<T> {
  readonly push: (items: readonly T[]) => void;
  readonly end: () => void;
}

interface BatchOptions {
  readonly perSecond?: number;
  /** Maximum of items kept between two flushes; older ones are dropped. */
  readonly most?: number;
}

/** @param flush gets the items in their order, and how many were dropped before them */
export const batches = <T>(
  flush: (items: readonly T[], dropped: number) => void,
  { perSecond = 4, most = 20_000 }: BatchOptions = {},
): Batches<T> => {
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
    push: (items) => {
      if (items.length === 0) return;
      waiting = waiting.concat(items);
      if (waiting.length > most) {
        dropped += waiting.length - most;
        waiting = waiting.slice(-most);
      }
      if (timer !== undefined) return;
      const wait = Math.max(0, last + 1000 / perSecond - performance.now());
      timer = setTimeout(() => {
        // A page in the background gets no animation frames.
        if (document.hidden) run();
        else frame = requestAnimationFrame(run);
      }, wait);
    },
    end: () => {
      clearTimeout(timer);
      if (frame !== undefined) cancelAnimationFrame(frame);
    },
  };
};
