import { createHash, createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { projections } from '../../../projections/all.ts';
import type { Fact } from '../log.ts';
import {
  type Actor,
  type Area,
  BOUND_MS,
  type Choice,
  type Context,
  type Report,
  type Tenant,
  V1,
} from './area.ts';

const proof = z.looseObject({
  tenant_id: z.string(),
  position: z.string(),
  root: z.string(),
  signed_at: z.string(),
  public_key: z.string(),
  signature: z.string(),
});
const hashed = z.looseObject({ hash: z.string() });
type Proof = z.output<typeof proof>;

/** Rebuilds read models, requests proofs of the log, and suspends tenants. */
export class Operations implements Area {
  readonly name = 'operations';
  readonly #context: Context;
  readonly #proofs: Proof[] = [];
  readonly #faults: string[] = [];
  #suspended = 0;

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare(): Promise<void> {}

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const { dice, platform } = this.#context;
    if (actor !== tenant.admin) return [];
    return [
      [
        1,
        async () => {
          const path = `/super/projections/${dice.pick(projections).name}/rebuild`;
          await platform.write('POST', path, undefined, { what: 'rebuild' });
        },
      ],
      [1, () => this.#prove(actor)],
      [this.#suspended < 2 ? 0.5 : 0, () => this.#suspend()],
    ];
  }

  async #prove({ client }: Actor): Promise<void> {
    const { status, body } = await client.get(`${V1}/audit/proof`);
    if (status === 200) this.#proofs.push(proof.parse(body));
  }

  /** Suspends a tenant that no other area uses, and activates it again. */
  async #suspend(): Promise<void> {
    const { platform, clientOf, later } = this.#context;
    this.#suspended += 1;
    const id = `s${this.#suspended}`;
    const made = await platform.write('POST', '/super/tenants', { id, name: id }, { what: 'add tenant' });
    if (made?.status !== 201) return;
    const person = { tenantId: id, id: `${id}-ann`, email: `ann@${id}.example`, role: 'admin' } as const;
    const client = clientOf(person);
    const expect = async (wanted: number): Promise<void> => {
      const { status } = await client.get(`${V1}/me`);
      if (status !== wanted && status !== 503)
        this.#faults.push(`a person of the tenant ${id} got ${status} instead of ${wanted}`);
    };
    await expect(200);
    const change = async (status: 'suspended' | 'active'): Promise<boolean> => {
      const changed = await platform.write('PATCH', `/super/tenants/${id}`, { status }, { what: status });
      return changed?.status === 200;
    };
    if (!(await change('suspended'))) return;
    later(BOUND_MS, async () => {
      await expect(403);
      if (await change('active')) later(BOUND_MS, () => expect(200));
    });
  }

  /** Each proof is signed and covers each stream's last hash at its position; the last proofs reach the log's end. */
  async check(log: readonly Fact[], report: Report): Promise<void> {
    this.#faults.forEach(report);
    for (const { admin } of this.#context.tenants) await this.#prove(admin);
    for (const one of this.#proofs) {
      const { tenant_id: tenant, position, root, signed_at, public_key, signature } = one;
      const text = ['workflow-platform audit head v1', tenant, position, root, signed_at].join('\n');
      const key = createPublicKey({ key: Buffer.from(public_key, 'base64'), format: 'der', type: 'spki' });
      if (!verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64')))
        report(`the head of ${tenant} at ${position} has a wrong signature`);
      const last = new Map<string, Fact>();
      for (const event of log)
        if (event.tenant === tenant && event.position <= position) last.set(event.stream, event);
      const lines = [...last.values()]
        .sort((a, b) => Buffer.compare(Buffer.from(a.stream), Buffer.from(b.stream)))
        .map(
          ({ stream, revision, metadata }) =>
            `${stream} ${revision} ${hashed.parse(JSON.parse(metadata)).hash}`,
        );
      if (createHash('sha256').update(lines.join('\n')).digest('hex') !== root)
        report(`the head of ${tenant} at ${position} is not over the hashes of the log`);
    }
    const latest = this.#proofs.slice(-this.#context.tenants.length);
    for (const { tenant_id: tenant, position } of latest) {
      const end = log.findLast((event) => event.tenant === tenant)?.position ?? '';
      if (position < end) report(`the last head of ${tenant} is at ${position}, its log ends at ${end}`);
    }
  }
}
