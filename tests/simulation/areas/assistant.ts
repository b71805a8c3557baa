import { z } from 'zod';
import { NOTHING_FOUND } from '../../../application/assistant/answering.ts';
import { eventsOf, type Fact } from '../log.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  prepared,
  type Report,
  type Tenant,
  V1,
} from './area.ts';

const MODEL_HOST = 'model.example';
export const MODEL_URL = `https://${MODEL_HOST}/v1`;
const RECORDS = `${V1}/entities/guide/records`;

const answer = z.looseObject({
  reply: z.string(),
  retrieved_chunks: z.array(z.looseObject({ record_id: z.string() })),
});
const guide = z.looseObject({
  entity_name: z.string(),
  record_id: z.string(),
  values: z.looseObject({ text: z.string().optional() }),
});
const SUBJECTS = ['chairs', 'ovens', 'bicycles', 'lamps', 'carpets'];

/** Questions about records that change meanwhile, answered by a language model that fails now and then. */
export class Assistant implements Area {
  readonly name = 'assistant';
  readonly #context: Context;
  /** Ids of records by tenant. */
  readonly #guides = new Map<string, string[]>();
  readonly #said = new Set<string>();
  readonly #faults: string[] = [];

  constructor(context: Context) {
    this.#context = context;
    const { dice, hosts } = context;
    hosts.serve(MODEL_HOST, () => {
      const content = `answer ${this.#said.size}`;
      if (dice.chance(0.1)) return { status: 200, body: { choices: [] } };
      this.#said.add(content);
      return { status: 200, body: { choices: [{ message: { content } }] } };
    });
  }

  async prepare({ id, admin }: Tenant): Promise<void> {
    this.#guides.set(id, []);
    const text = { key: 'text', label: 'Text', type: 'text', required: true };
    await prepared(admin.client, `${V1}/entities`, { name: 'guide', label: 'Guide', fields: [text] });
  }

  #guidesOf({ id }: Tenant): string[] {
    return this.#guides.get(id) ?? [];
  }

  #text(): string {
    const { dice, requests } = this.#context;
    return `The ${dice.pick(SUBJECTS)} of order ${requests.length} were promised for ${dice.pick(SUBJECTS)}.`;
  }

  actions(tenant: Tenant, { client }: Actor): readonly Choice[] {
    const { dice } = this.#context;
    const guides = this.#guidesOf(tenant);
    const ifAny = (weight: number): number => (guides.length === 0 ? 0 : weight);
    return [
      [
        3,
        async () => {
          const created = { what: 'write guide', event: 'RecordCreated' };
          const reply = await client.write('POST', RECORDS, { values: { text: this.#text() } }, created);
          if (reply?.status === 201) guides.push(z.looseObject({ id: z.string() }).parse(reply.body).id);
        },
      ],
      [
        ifAny(2),
        async () => {
          const path = `${RECORDS}/${dice.pick(guides)}`;
          await client.write('PATCH', path, { values: { text: this.#text() } }, { what: 'change guide' });
        },
      ],
      [
        ifAny(1),
        async () => {
          await client.write('DELETE', `${RECORDS}/${dice.pick(guides)}`, undefined, { what: 'drop guide' });
        },
      ],
      [ifAny(4), () => this.#ask(tenant, client)],
    ];
  }

  async #ask(tenant: Tenant, client: Actor['client']): Promise<void> {
    const message = `What was promised for the ${this.#context.dice.pick(SUBJECTS)}?`;
    const asked = { what: 'ask', event: 'AssistantQuestionAsked' };
    const answered = await client.write('POST', `${V1}/ai/assistant/ask`, { message, history: [] }, asked);
    if (answered?.status !== 200) return;
    const { reply, retrieved_chunks: cited } = answer.parse(answered.body);
    if (cited.length === 0 ? reply !== NOTHING_FOUND : !this.#said.has(reply))
      this.#faults.push(`a question of ${tenant.id} with ${cited.length} sources was answered “${reply}”`);
    for (const { record_id: id } of cited)
      if (this.#context.tenants.some((other) => other !== tenant && this.#guidesOf(other).includes(id)))
        this.#faults.push(`${tenant.id} was shown ${id} of another tenant`);
  }

  /** The corpus has the last text of each live record, and nothing of deleted ones. */
  async check(log: readonly Fact[], report: Report): Promise<void> {
    this.#faults.forEach(report);
    const { corpus } = this.#context.world.stores;
    for (const tenant of this.#context.tenants) {
      const texts = new Map<string, string | undefined>();
      for (const { type, facts } of eventsOf(
        log,
        tenant,
        'RecordCreated',
        'RecordUpdated',
        'RecordDeleted',
      )) {
        if (facts.entity_name !== 'guide') continue;
        const { record_id: id, values } = guide.parse({ values: {}, ...facts });
        texts.set(id, type === 'RecordDeleted' ? undefined : values.text);
      }
      const keys = [...texts.keys()].map((id) => ({ kind: 'entity_record' as const, id }));
      const sources = await corpus.load(tenant.id, keys);
      for (const [at, [id, text]] of [...texts].entries()) {
        const found = sources[at]?.chunks.map((chunk) => chunk.text).join('\n');
        const isRight = text === undefined ? found === undefined : found?.includes(text) === true;
        if (!isRight) report(`${id} says ${text ?? 'nothing'}, in the corpus it says ${found ?? 'nothing'}`);
      }
      const waiting = (await corpus.withoutVectors(1)).length;
      if (waiting > 0) report('a source has no vectors');
    }
  }
}
