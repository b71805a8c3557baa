import { z } from 'zod';
import type { Answer, Client } from '../../support/client.ts';
import { eventually } from '../../support/server.ts';
import { tenant as tenantShape, uuid } from '../../support/shapes.ts';
import type { TestRecord } from '../../support/uploads.ts';
import type { Member, TestTenant, World } from '../../support/world.ts';

/** The assistant's API (specification, Assistant; decisions, section 7). */

export const ASK = '/api/v1/tenant/ai/assistant/ask';
export const BACKFILL = '/api/v1/tenant/rag/backfill';
export const ENTITIES = '/api/v1/tenant/entities';

/** The server's environment with the embedding model enabled. */
export const MODEL = { EMBEDDING_MODEL: 'bundled' };

export const answer = z.strictObject({
  reply: z.string().min(1),
  retrieved_chunks: z
    .array(
      z.strictObject({
        source_kind: z.enum(['entity_record', 'attachment']),
        source_id: uuid,
        score: z.number().min(0).max(1),
        entity_name: z.string(),
        record_id: uuid,
        title: z.string().min(1),
        excerpt: z.string().min(1).max(480),
      }),
    )
    .max(6),
});
export type AskAnswer = z.output<typeof answer>;

export const counts = z.strictObject({
  added: z.int().nonnegative(),
  updated: z.int().nonnegative(),
  skipped: z.int().nonnegative(),
});

const withId = z.looseObject({ id: z.string() });

/** Sets the plan `enterprise`, which includes the assistant. */
export const entitle = async (world: World, tenant: TestTenant): Promise<TestTenant> => {
  (await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'enterprise' })).as(tenantShape);
  return tenant;
};

export const entitledTenant = async (world: World): Promise<TestTenant> =>
  entitle(world, await world.tenant());

export const ORDERS = 'orders';

/** An entity `orders` with a name, a promise and a number. */
export const defineOrders = async (tenant: TestTenant): Promise<void> => {
  const field = (key: string, label: string, type: string) => ({ key, label, type, required: false });
  const fields = [
    field('name', 'Name', 'text'),
    field('promise', 'What we promised', 'long_text'),
    field('chairs', 'Number of chairs', 'integer'),
  ];
  const made = await tenant.admin.api.post(ENTITIES, { name: ORDERS, label: 'Order', fields });
  made.as(z.looseObject({}), 201);
};

export interface Order {
  readonly name?: string;
  readonly promise?: string;
  readonly chairs?: number;
}

export const newOrder = async (api: Client, values: Order): Promise<TestRecord> => {
  const made = await api.post(`${ENTITIES}/${ORDERS}/records`, { values });
  return { entity: ORDERS, id: made.as(withId, 201).id };
};

export const changeOrder = async (api: Client, { id }: TestRecord, values: Order): Promise<void> => {
  (await api.patch(`${ENTITIES}/${ORDERS}/records/${id}`, { values })).as(withId);
};

export const ask = async (
  api: Client,
  message: string,
  history?: readonly { role: string; content: string }[],
): Promise<AskAnswer> =>
  (await api.post(ASK, { message, ...(history === undefined ? {} : { history }) })).as(answer);

export const backfill = async (api: Client) => (await api.post(BACKFILL)).as(counts);

export const sourcesOf = ({ retrieved_chunks }: AskAnswer): string[] => [
  ...new Set(retrieved_chunks.map(({ source_id }) => source_id)),
];

/** Asks until `isGood` accepts the answer, since the corpus lags behind writes. */
export const askUntil = (
  person: Member,
  message: string,
  isGood: (found: AskAnswer) => boolean,
): Promise<AskAnswer> =>
  eventually(
    `a good answer to ${message}`,
    async () => {
      const found = await ask(person.api, message);
      return isGood(found) ? found : undefined;
    },
    60_000,
  );

export const refusal = ({ status, json }: Answer): readonly [number, unknown] => [
  status,
  z.looseObject({ error: z.string() }).parse(json).error,
];
