import { z } from 'zod';
import type { StoredEvent } from '../../application/ports/event-store.ts';
import { projections } from '../../projections/all.ts';
import type { World } from './world.ts';

/** An event as the log stores it, with sealed texts unopened. */
export interface Fact extends StoredEvent {
  /** Id of the request that caused it. */
  readonly correlation: string;
  /** Id of the direct cause. */
  readonly causation: string;
  /** RFC 3339. */
  readonly at: string;
  readonly tenant: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

const metadata = z.looseObject({
  $correlationId: z.string().optional(),
  $causationId: z.string().optional(),
  occurred_at: z.string(),
});
const data = z.record(z.string(), z.unknown());
const PAGE = 2_000;

export const readLog = async (world: World): Promise<Fact[]> => {
  const found: Fact[] = [];
  for (;;) {
    const from = found.at(-1)?.position;
    const page = await world.stores.events.readAll({ ...(from === undefined ? {} : { from }), limit: PAGE });
    for (const event of page) {
      const {
        $correlationId: correlation = '',
        $causationId: causation = '',
        occurred_at: at,
      } = metadata.parse(JSON.parse(event.metadata));
      const facts = data.parse(JSON.parse(event.data));
      found.push({ ...event, at, correlation, causation, tenant: event.stream.split('.')[0] ?? '', facts });
    }
    if (page.length < PAGE) return found;
  }
};

/** Events of a tenant that have one of the types. */
export const eventsOf = (log: readonly Fact[], { id }: { readonly id: string }, ...types: string[]): Fact[] =>
  log.filter(({ tenant, type }) => tenant === id && types.includes(type));

/** All documents of the active read models, as JSON. */
export const allDocuments = async ({ stores: { reads } }: World): Promise<string[]> => {
  const found: string[] = [];
  for (const { name, collections } of projections) {
    const { active } = await reads.activeGeneration(name);
    if (active === undefined) continue;
    for (const collection of collections) {
      const generation = { projection: name, tag: active };
      let page = await reads.list(generation, collection.name, undefined, PAGE);
      while (page.length > 0) {
        for (const { doc } of page) found.push(JSON.stringify(doc?.value));
        page = await reads.list(generation, collection.name, page.at(-1), PAGE);
      }
    }
  }
  return found;
};

/** Snapshots of streams and stored answers, as JSON: neither holds a personal text in the clear. */
export const sealedTexts = async ({ stores: { snapshots, answers } }: World): Promise<string[]> => {
  const found = [...snapshots.all().values()].map(({ state }) => state);
  for await (const stored of answers.list())
    if ('answer' in stored) found.push(JSON.stringify(stored.answer));
  return found;
};
