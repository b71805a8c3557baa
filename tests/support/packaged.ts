import { readFileSync } from 'node:fs';
import { z } from 'zod';

const file = z.object({
  engines: z.object({ node: z.string() }),
  scripts: z.object({ start: z.string(), admin: z.string() }),
});

/** The parts of `package.json` that other files must agree with. */
export const packaged = () => file.parse(JSON.parse(readFileSync('package.json', 'utf8')));
