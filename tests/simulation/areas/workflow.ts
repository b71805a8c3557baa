import { z } from 'zod';
import { STATES, TO_APPROVAL } from '../../support/sample-workflow.ts';
import { eventsOf, type Fact } from '../log.ts';
import type { Reply } from '../network.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  type Page,
  PerTenant,
  prepared,
  type Report,
  type Tenant,
  twiceIn,
  V1,
  withId,
} from './area.ts';

const EVENTS = ['submit', 'approve', 'send_back', 'pay'];
const job = z.looseObject({ state: z.string(), version: z.number() });

/** Jobs that several people move concurrently, and a public form that starts more jobs. */
export class Workflow implements Area {
  readonly name = 'workflow';
  readonly #context: Context;
  /** Records of the entity with a workflow; a job has its record's id. */
  readonly #jobs = new PerTenant<string>();
  /** The answers to the requests that started the jobs. */
  readonly #starts = new PerTenant<Reply>();

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare({ admin: { client } }: Tenant): Promise<void> {
    const pay = { event_name: 'pay', from: 'approved', to: 'paid' };
    const flow = {
      name: 'flow',
      initial: 'draft',
      states: STATES,
      transitions: [...TO_APPROVAL, pay],
    };
    await prepared(client, `${V1}/workflows`, flow);
    const fields = [
      { key: 'title', label: 'Title', type: 'text', required: false },
      { key: 'amount', label: 'Amount', type: 'integer', required: false },
    ];
    const entity = { name: 'expense', label: 'Expense', fields };
    await prepared(client, `${V1}/entities`, entity);
    await prepared(client, `${V1}/workflows/flow/publish`, {});
    const bound = await client.write(
      'PATCH',
      `${V1}/entities/expense`,
      { workflow: 'flow' },
      { what: 'prepare workflow' },
    );
    if (bound?.status !== 200) throw new Error(`workflow: ${JSON.stringify(bound?.body)}`);
    const form = { slug: 'expenses', title: 'Expenses', entity_name: 'expense' };
    const made = await prepared(client, `${V1}/forms`, { ...form, fields: [{ field_key: 'title' }] });
    await prepared(client, `${V1}/forms/${withId.parse(made).id}/publish`, {});
  }

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const { client } = actor;
    const { dice, requests } = this.#context;
    const jobs = this.#jobs.of(tenant);
    return [
      [
        3,
        async () => {
          const values = { title: `expense ${requests.length}`, amount: dice.between(1, 1_500) };
          const path = `${V1}/entities/expense/records`;
          const reply = await client.write(
            'POST',
            path,
            { values },
            { what: 'start', event: 'RecordCreated' },
          );
          if (reply?.status !== 201) return;
          jobs.push(withId.parse(reply.body).id);
          this.#starts.of(tenant).push(reply);
        },
      ],
      [
        jobs.length === 0 ? 0 : 6,
        async () => {
          const path = `${V1}/jobs/${dice.pick(jobs)}/transitions`;
          const state = dice.chance(0.5) ? { expected_state: dice.pick(STATES).key } : {};
          const body = { event_name: dice.pick(EVENTS), ...state };
          await client.write('POST', path, body, { what: 'move', event: 'JobTransitioned' });
        },
      ],
      [actor === tenant.admin && jobs.length > 0 ? 1 : 0, () => this.#moveSome(tenant, actor)],
      [
        1,
        async () => {
          const path = `/public/forms/${tenant.id}/expenses/submissions`;
          const values = { title: `form ${requests.length}` };
          const body = { values, submission_id: `s-${requests.length}` };
          const anyone = this.#context.clientWith(undefined);
          await anyone.write('POST', path, body, { what: 'submit', event: 'FormSubmitted' });
        },
      ],
    ];
  }

  pages(tenant: Tenant): readonly Page[] {
    const known = new Set(STATES.map(({ key }) => key));
    const isKnown = (body: unknown): string | undefined =>
      known.has(job.parse(body).state) ? undefined : 'the job is in no state of its workflow';
    const starts = this.#starts.of(tenant);
    const written = starts.length === 0 ? undefined : this.#context.dice.pick(starts);
    return [
      { path: `${V1}/jobs?limit=50`, wrong: (body) => twiceIn(z.array(withId).parse(body)) },
      ...(written === undefined
        ? []
        : [{ path: `${V1}/jobs/${withId.parse(written.body).id}`, written, wrong: isKnown }]),
    ];
  }

  /** Moves several jobs in a bulk session. */
  async #moveSome(tenant: Tenant, { client }: Actor): Promise<void> {
    const { dice } = this.#context;
    const ids = Array.from({ length: dice.between(1, 20) }, () => dice.pick(this.#jobs.of(tenant)));
    const body = {
      entity_name: 'expense',
      operation: 'transition',
      selection: { kind: 'ids', ids },
      op_params: { kind: 'transition', event_name: dice.pick(EVENTS) },
    };
    const reply = await client.write('POST', `${V1}/bulk-ops/preview`, body, { what: 'preview moves' });
    if (reply?.status !== 201) return;
    const path = `${V1}/bulk-ops/sessions/${withId.parse(reply.body).id}/commit`;
    await client.write('POST', path, undefined, { what: 'commit moves' });
  }

  async check(log: readonly Fact[], report: Report): Promise<void> {
    for (const tenant of this.#context.tenants) {
      const started = eventsOf(log, tenant, 'RecordCreated')
        .filter(({ facts }) => facts.job !== undefined)
        .map(({ facts }) => String(facts.record_id));
      const states = new Map<string, string>(started.map((id) => [id, 'draft']));
      for (const { stream, facts } of eventsOf(log, tenant, 'JobTransitioned')) {
        const id = started.find((each) => stream.endsWith(each)) ?? '';
        if (states.get(id) !== facts.from_state)
          report(`${stream} moved from ${facts.from_state} while in ${states.get(id)}`);
        states.set(id, String(facts.to_state));
      }
      for (const id of this.#jobs.of(tenant)) {
        const { state } = job.parse((await tenant.admin.client.get(`${V1}/jobs/${id}`)).body);
        if (state !== states.get(id)) report(`job ${id} shows ${state}, the log says ${states.get(id)}`);
      }
      const submitted = eventsOf(log, tenant, 'FormSubmitted').map(({ facts }) => String(facts.entity_id));
      const created = new Set(eventsOf(log, tenant, 'RecordCreated').map(({ facts }) => facts.record_id));
      for (const id of submitted) if (!created.has(id)) report(`a form's record ${id} was not created`);
      if (new Set(submitted).size !== submitted.length) report(`a form of ${tenant.id} was taken twice`);
    }
  }
}
