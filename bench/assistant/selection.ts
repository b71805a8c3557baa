import { globSync, readFileSync } from 'node:fs';
import { searchTextsOf } from '../../application/assistant/question.ts';
import { RANKING } from '../../application/assistant/ranking.ts';
import { type IndexQuery, SearchIndex } from '../../application/assistant/search-index.ts';
import { threadedEmbedder } from '../../infrastructure/embedding/threaded-embedder.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { documents } from './corpus/all.ts';
import { cases } from './labelled.ts';

/**
 * `node bench/assistant/selection.ts`: how often a search that compares the chunks selected by sign codes (decision 78)
 * finds the same list as one that compares all, and the time of both. The corpus has the documents of the labelled set
 * and the paragraphs of `docs`, embedded by the model; larger ones repeat them with noise.
 */

const SIZES = [10_000, 100_000];
const GROUP = 64;
const CHARACTERS = 150;
const PER_SOURCE = 8;
const NOISE = 0.05;
const ALL = { least: Number.POSITIVE_INFINITY, share: 1 };

const paragraphs = globSync('docs/**/*.md').flatMap((file) =>
  readFileSync(file, 'utf8')
    .split(/\n\s*\n/)
    .filter((text) => text.length > CHARACTERS / 2),
);
const texts = [...documents.map(({ title, text }) => `${title}\n${text}`), ...paragraphs].map((text) =>
  text.slice(0, CHARACTERS),
);

const noisy = (vector: Float32Array): Float32Array => {
  const moved = vector.map((value) => value + (Math.random() - 0.5) * NOISE);
  const length = Math.hypot(...moved);
  return moved.map((value) => value / length);
};

const fill = (indexes: readonly SearchIndex[], vectors: readonly Float32Array[], size: number): void => {
  for (let from = 0; from < size; from += PER_SOURCE) {
    const chunks = Array.from({ length: PER_SOURCE }, (_, no) => {
      const nth = (from + no) % texts.length;
      const vector = vectors[nth];
      return { text: texts[nth] ?? '', vector: vector && (from < texts.length ? vector : noisy(vector)) };
    });
    for (const index of indexes) index.put({ kind: 'entity_record', id: `${from}`, title: '', chunks });
  }
};

const timed = <T>(search: () => T): readonly [T, number] => {
  const began = performance.now();
  return [search(), performance.now() - began];
};

const compare = (queries: readonly IndexQuery[], selecting: SearchIndex, comparing: SearchIndex): string => {
  let [same, first, selectingMs, comparingMs] = [0, 0, 0, 0];
  for (const query of queries) {
    const [found, ms] = timed(() => selecting.search(query, RANKING));
    const [exact, exactMs] = timed(() => comparing.search(query, RANKING));
    if (
      JSON.stringify(found.map(({ id, no }) => [id, no])) ===
      JSON.stringify(exact.map(({ id, no }) => [id, no]))
    )
      same += 1;
    if (found[0]?.id === exact[0]?.id && found[0]?.no === exact[0]?.no) first += 1;
    selectingMs += ms;
    comparingMs += exactMs;
  }
  const mean = (sum: number): string => `${(sum / queries.length).toFixed(1)} ms`;
  const share = (count: number): string => `${((100 * count) / queries.length).toFixed(1)} %`;
  return `same list ${share(same)}, same best ${share(first)}, ${mean(selectingMs)} instead of ${mean(comparingMs)}`;
};

const embedder = threadedEmbedder({ logger: createLogger('error') });
const vectors: Float32Array[] = [];
for (let from = 0; from < texts.length; from += GROUP)
  vectors.push(...(await embedder.embed(texts.slice(from, from + GROUP), 'background')));
const queries: IndexQuery[] = [];
for (const { question } of cases) {
  const { text, terms } = searchTextsOf(question, []);
  const [vector] = await embedder.embed([text], 'question');
  // By vectors alone, a wrong selection has no words to make up for it.
  queries.push({ vector, terms }, { vector, terms: [] });
}
await embedder.close();
console.log(`${texts.length} texts, ${cases.length} questions, each with and without its words`);
for (const size of SIZES) {
  const selecting = new SearchIndex(embedder.dimensions);
  const comparing = new SearchIndex(embedder.dimensions, ALL);
  fill([selecting, comparing], vectors, size);
  console.log(`${size} chunks: ${compare(queries, selecting, comparing)}`);
}
