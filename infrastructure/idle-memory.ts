/** How often (ms) the thread's processor time is read. */
const SAMPLE_MS = 1_000;
/** Processor time (ms per second) up to which a thread counts as idle; timers and polls take 5 to 15. */
const IDLE_MS = 25;
/** Idle seconds before the collection after the start. */
const STARTED_SAMPLES = 3;
/**
 * Idle seconds before later collections. A collection also discards compiled code: after a short pause it would slow
 * down requests for seconds.
 */
const IDLE_SAMPLES = 30;
/** Processor time (ms) of busy seconds after which a thread may hold enough garbage for another collection. */
const WORKED_MS = 1_000;

/** Decides after each second whether a collection is due, by the processor time (ms) that the second used. */
export const dueWhenIdle = (): ((used: number) => boolean) => {
  // The start counts as enough work.
  let worked = WORKED_MS;
  let samples = STARTED_SAMPLES;
  let idle = 0;
  return (used) => {
    if (used > IDLE_MS) worked += used;
    idle = used <= IDLE_MS ? idle + 1 : 0;
    if (idle < samples || worked < WORKED_MS) return false;
    worked = 0;
    samples = IDLE_SAMPLES;
    return true;
  };
};

/**
 * Gives memory back to the system once this thread is idle: after its start, whose modules make V8's young generation
 * grow, and after work (decision 44). Does nothing without Node's option `--expose-gc`.
 */
export const releaseWhenIdle = (): void => {
  const { gc } = globalThis;
  if (gc === undefined) return;
  const isDue = dueWhenIdle();
  let before = process.threadCpuUsage();
  const sample = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    // Other kinds of collection leave the young generation as large as it has grown.
    if (isDue((user + system) / 1000)) gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    before = process.threadCpuUsage();
  };
  setInterval(sample, SAMPLE_MS).unref();
};
