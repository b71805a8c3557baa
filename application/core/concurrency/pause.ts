import { setTimeout } from 'node:timers/promises';

/** Resolves after `ms`, or as soon as `signal` aborts; never rejects. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, signal && { signal }).catch(() => undefined);
