import { z } from 'zod';
import { run } from './run.ts';

/** A process of `processes.ts`: runs the seeds that it is sent, one after another, and answers without traces. */
const asked = z.object({ seed: z.number(), requests: z.number() });

process.on('message', async (message: unknown) => {
  const { trace: _, ...result } = await run(asked.parse(message));
  process.send?.(result);
});

// Timers and handles of stopped nodes would keep the process alive for a while.
process.on('disconnect', () => process.exit());
