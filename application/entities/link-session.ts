import type { RecordState } from '../../domain/entities/record.ts';
import type { Link, LinkFacts } from '../../domain/entities/record-values.ts';
import type { RecordLinks, Writer } from './record-links.ts';

/** Thrown for references that were not looked up or whose registration is barred; the caller looks them up again. */
export class LinksChanged extends Error {
  override readonly name = 'LinksChanged';
}

/** The targets of the references of one write. */
export class LinkSession {
  readonly #links: RecordLinks;
  readonly #writer: Writer;
  /** By field and id: the registration, and whether the target exists. */
  readonly #found = new Map<
    string,
    { readonly registration: string | undefined; readonly exists: boolean }
  >();

  constructor(links: RecordLinks, writer: Writer) {
    this.#links = links;
    this.#writer = writer;
  }

  /** Registers the references. */
  async register(links: readonly Link[]): Promise<void> {
    for (const link of links) this.#found.set(keyOf(link), await this.#look(link));
  }

  /** @throws {LinksChanged} */
  facts(state: RecordState, links: readonly Link[]): LinkFacts {
    const barred = state.status === 'deleted' ? [] : state.barred;
    const missing = new Set<string>();
    const registrations: Record<string, string> = {};
    for (const link of links) {
      const found = this.#found.get(keyOf(link));
      if (found === undefined) throw new LinksChanged();
      if (found.registration !== undefined && barred.includes(found.registration)) throw new LinksChanged();
      if (!found.exists) missing.add(link.fieldKey);
      if (found.registration !== undefined) registrations[link.fieldKey] = found.registration;
    }
    return { missing, registrations };
  }

  /** Releases registrations of a refused write. Registrations that remain are resolved when their target is deleted. */
  async release(): Promise<void> {
    const { tenantId, cause } = this.#writer;
    for (const [key, { registration }] of this.#found) {
      const [, targetId = ''] = key.split('\n');
      if (registration !== undefined) {
        await this.#links.release(tenantId, targetId, [registration], cause).catch(() => undefined);
      }
    }
  }

  async #look(link: Link): Promise<{ registration: string | undefined; exists: boolean }> {
    const { tenantId, recordId, entityName } = this.#writer;
    if (link.kind === 'user')
      return { registration: undefined, exists: await this.#links.exists(tenantId, link) };
    // The record refers to itself, so no registration is needed.
    if (link.id === recordId) return { registration: undefined, exists: link.entityName === entityName };
    const registration = await this.#links.register(this.#writer, link);
    return { registration, exists: registration !== undefined };
  }
}

const keyOf = ({ fieldKey, id }: Link): string => `${fieldKey}\n${id}`;
