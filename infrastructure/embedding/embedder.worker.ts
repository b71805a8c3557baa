import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ready } from '@energetic-ai/core';
import { type EmbeddingsModelSource, initModel } from '@energetic-ai/embeddings';
import { yieldToOtherThreads } from '../thread-priority.ts';
import type { EmbedderThreadData, FromEmbedder, ToEmbedder } from './threaded-embedder.ts';
import { normalised } from './vectors.ts';

/** The package's own declarations refer to a package that is not installed. */
declare module '@energetic-ai/core' {
  function ready(): Promise<void>;
}

/**
 * The tokenizer's time is quadratic in the length of the text, and normalisation may turn one character into eighteen.
 * Texts are therefore truncated before and after normalisation.
 */
const MAX_CHARACTERS = 4000;

/** The model accepts no empty text. */
const embeddable = (text: string): string => {
  const cut = text.slice(0, MAX_CHARACTERS).normalize('NFKC').slice(0, MAX_CHARACTERS).toWellFormed();
  return cut === '' ? ' ' : cut;
};

/** Computes embeddings in a worker thread, since each takes many milliseconds of processor time. */
const run = async (): Promise<void> => {
  if (isMainThread || parentPort === null) throw new Error('this file is a worker thread');
  const port = parentPort;
  yieldToOtherThreads(10);
  // Messages come from `threadedEmbedder` of the same release, so they are not validated.
  const { modelPackage, dimensions } = workerData as EmbedderThreadData;
  const post = (message: FromEmbedder, vectors: readonly Float32Array<ArrayBuffer>[] = []): void =>
    port.postMessage(
      message,
      vectors.map(({ buffer }) => buffer),
    );
  let embed: (texts: string[]) => Promise<number[][]>;
  try {
    const files = (await import(modelPackage)) as { readonly modelSource: EmbeddingsModelSource };
    // `initModel` loads the model and its backend concurrently, and fails if the model is loaded first.
    await ready();
    const model = await initModel(files.modelSource);
    embed = (texts) => model.embed(texts);
    // Embeds one text before the thread reports that it is loaded: the first text shows whether the model works, and
    // is slow.
    normalised(await embed(['ready']), dimensions);
  } catch (error) {
    post({ kind: 'unavailable', message: error instanceof Error ? error.message : String(error) });
    port.close();
    return;
  }
  port.on('message', async (texts: ToEmbedder) => {
    try {
      const vectors = normalised(await embed(texts.map(embeddable)), dimensions);
      post({ kind: 'embedded', vectors }, vectors);
    } catch (error) {
      post({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
    }
  });
  post({ kind: 'loaded' });
};

await run();
