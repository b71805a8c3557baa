import { createRequire } from 'node:module';
import { z } from 'zod';

const { version } = z
  .object({ version: z.string() })
  .parse(createRequire(import.meta.url)('../../package.json'));

/** The `info` object of the OpenAPI and AsyncAPI documents. */
export const INFO = {
  title: 'Workflow platform',
  version,
  contact: { name: 'The maintainers of the workflow platform' },
} as const;
