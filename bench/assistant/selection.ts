import { globSync, readFileSync } from 'node:fs';
import { searchTextsOf } from '../../application/assistant/question.ts';
import { RANKING } from '../../application/assistant/ranking.ts';
import { type IndexQuery, SearchIndex } from '../../application/assistant/search-index.ts';
import { threadedEmbedder } from '../../infrastructure/embedding/threaded-embedder.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { documents } from './corpus/all.ts';
import { cases } from './labelled.ts';

/**
 * `node bench/assistant/selection.ts`: compares the search of decision 78 with a search of all chunks: how often both
 * find the same list, and how long each takes. The search of decision 78 reads only the chunks that sign codes select.
 * The corpus has the beginnings of the labelled set's sources and of paragraphs of `docs`, embedded by the model, and
 * mixtures of two vectors. One chunk of ten has no vector, as during a backfill.
 */

const SIZES = [10_000, 100_000];
const GROUP = 64;
const CHARACTERS = 150;
const LONGEST = 12;
/** Share of chunks that have no vector yet. */
const MISSING = 0.1;
const NOISE = 0.02;
const ALL = { least: Number.POSITIVE_INFINITY, share: 1 };

const paragraphs = globSync('docs/**/*.md').flatMap((file) =>
  readFileSync(file, 'utf8')
    .split(/\n\s*\n/)
    .filter((text) => text.length > CHARACTERS / 2),
);
const texts = [...documents.map(({ title, text }) => `${title}\n${text}`), ...paragraphs].map((text) =>
  text.slice(0, CHARACTERS),
);

/** A vector between two others, with noise, like the vector of a text about both subjects. */
const between = (one: Float32Array, other: Float32Array): Float32Array => {
  const share = Math.random();
  const moved = one.map(
    (value, at) => share * value + (1 - share) * (other[at] ?? 0) + (Math.random() - 0.5) * NOISE,
  );
  const length = Math.hypot(...moved);
  return moved.map((value) => value / length);
};

const anyOf = <T>(values: readonly T[]): T | undefined => values[Math.floor(Math.random() * values.length)];

/** Fills the indexes with the texts themselves, then with vectors between two texts, in sources of 1 to 12 chunks. */
const fill = (indexes: readonly SearchIndex[], vectors: readonly Float32Array[], size: number): void => {
  let made = 0;
  while (made < size) {
    const count = Math.min(1 + Math.floor(Math.random() * LONGEST), size - made);
    const chunks = Array.from({ length: count }, (_, no) => {
      const nth = (made + no) % texts.length;
      const [own, other] = [vectors[nth], anyOf(vectors)];
      const isMissing = Math.random() < MISSING;
      const vector = own && other && made >= texts.length ? between(own, other) : own;
      return { text: texts[nth] ?? '', vector: isMissing ? undefined : vector };
    });
    for (const index of indexes) index.put({ kind: 'entity_record', id: `${made}`, title: '', chunks });
    made += count;
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
  // Without terms, no matching words can make up for a wrong selection by vectors.
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
