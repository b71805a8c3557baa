import { version } from '../../infrastructure/build.ts';

/** The `info` object of the OpenAPI and AsyncAPI documents. */
export const INFO = {
  title: 'Workflow platform',
  version,
  contact: { name: 'The maintainers of the workflow platform' },
} as const;
