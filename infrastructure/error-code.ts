/** The code of a system or library error, such as `ENOENT`; undefined for any other value. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;
