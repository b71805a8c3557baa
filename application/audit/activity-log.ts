import { ImpersonatedRequestMade, ImpersonationStarted } from '../../domain/identity/impersonation.ts';
import { type Actor, metadataSchema } from '../core/events/event-codec.ts';
import { parseStreamName, tenantPrefix } from '../core/events/stream-name.ts';
import { ERASED } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { EventStore, Position, StoredEvent } from '../ports/event-store.ts';

/** One line of a tenant's activity log, which the API calls the event log (decisions, section 11). */
export interface LogLine {
  /** RFC 3339. */
  readonly at: string;
  readonly actor: { readonly kind: Actor['kind']; readonly id: string; readonly email: string };
  readonly impersonated_by?: string;
  readonly action: string;
  readonly subject: { readonly kind: string; readonly id: string };
  readonly position: Position;
  readonly request_id: string;
}

interface LogQuery {
  readonly limit: number;
  /** Lines before this position. */
  readonly before: Position | undefined;
  /** Id of the actor. */
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  /** Instants (RFC 3339, UTC, milliseconds), `[from, to)`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface LogPage {
  readonly lines: readonly LogLine[];
  /** `before` of the next page; undefined when the first event of the log was reached, or events well before `from`. */
  readonly next: Position | undefined;
}

/** Most events scanned per page; the page then ends with the lines found so far and a `next` position. */
const MAX_SCANNED = 50_000;
/** Most events of the tenant parsed per page. */
const MAX_PARSED = 5_000;
/** The list ends after this many events in a row that are earlier than `from` by more than {@link CLOCKS_MS}. */
const EARLIER = 1_000;
/** Clocks of nodes differ, so the times of events in the log may decrease; a day. */
const CLOCKS_MS = 86_400_000;

/**
 * A tenant's actions, newest first, read from its events. Requests under impersonation that change nothing are recorded
 * by events of their own (`ImpersonatedRequestMade`).
 */
export class ActivityLog extends WithDeps<{
  events: EventStore;
  directory: Directory;
  types: readonly string[];
}> {
  /** Event types by action. */
  readonly #types: ReadonlyMap<string, string> = new Map(
    this.deps.types.map((type) => [snakeCase(type), type]),
  );

  /** Returns lines, newest first. A page may have fewer than `limit` lines, even none, and still have a next page. */
  async page(tenantId: string, query: LogQuery): Promise<LogPage> {
    const filter = { streamPrefix: tenantPrefix(tenantId), types: this.#typesOf(query.action) };
    const end = query.from && new Date(Date.parse(query.from) - CLOCKS_MS).toISOString();
    const found: Entry[] = [];
    let next = query.before;
    let earlier = 0;
    for (let scanned = 0, parsed = 0; scanned < MAX_SCANNED && parsed < MAX_PARSED; ) {
      const limit = Math.min(query.limit, MAX_PARSED - parsed);
      const options = { direction: 'backward', from: next, filter, limit } as const;
      const page = await this.deps.events.scanAll(options, MAX_SCANNED - scanned);
      scanned += page.scanned;
      parsed += page.events.length;
      next = page.next;
      for (const stored of page.events) {
        const entry = entryOf(stored);
        earlier = end !== undefined && entry.at < end ? earlier + 1 : 0;
        if (earlier >= EARLIER) return { lines: await this.#lines(tenantId, found), next: undefined };
        if (!selects(query, entry)) continue;
        found.push(entry);
        if (found.length < query.limit) continue;
        return { lines: await this.#lines(tenantId, found), next: stored.position };
      }
      if (next === undefined) break;
    }
    return { lines: await this.#lines(tenantId, found), next };
  }

  /**
   * Event types that may have an action; undefined selects all types. `ImpersonatedRequestMade` may have any action,
   * since its action is the name of the operation.
   */
  #typesOf(action: string | undefined): string[] | undefined {
    if (action === undefined) return undefined;
    const type = this.#types.get(action);
    return type === undefined ? [ImpersonatedRequestMade.type] : [type, ImpersonatedRequestMade.type];
  }

  async #lines(tenantId: string, entries: readonly Entry[]): Promise<LogLine[]> {
    const people = entries.flatMap(({ actor }) => personOf(actor) ?? []);
    const emailOf = await this.deps.directory.emails(tenantId, people);
    const platform = await this.#platformEmails(entries);
    return entries.map(({ actor, impersonatedBy, ...line }) => {
      const person = personOf(actor);
      const byPlatform = actor.kind === 'platform_admin' ? platform.get(actor.id) : undefined;
      const email = person === undefined ? (byPlatform ?? '') : (emailOf(person) ?? ERASED);
      return {
        ...line,
        actor: { kind: actor.kind, id: actor.id, email },
        ...(impersonatedBy === undefined ? {} : { impersonated_by: impersonatedBy }),
      };
    });
  }

  /**
   * E-mails of platform admins by id. An admin whose token an operations tool made may be unknown to the directory:
   * then uses the e-mail in `impersonated_by`.
   */
  async #platformEmails(entries: readonly Entry[]): Promise<Map<string, string>> {
    const emails = new Map<string, string>();
    for (const { actor, impersonatedBy } of entries) {
      if (actor.kind !== 'platform_admin' || emails.has(actor.id)) continue;
      emails.set(actor.id, (await this.deps.directory.platformAdminEmail(actor.id)) ?? impersonatedBy ?? '');
    }
    return emails;
  }
}

interface Entry extends Omit<LogLine, 'actor' | 'impersonated_by'> {
  readonly actor: Actor;
  readonly impersonatedBy: string | undefined;
}

const entryOf = (stored: StoredEvent): Entry => {
  const metadata = metadataSchema.parse(JSON.parse(stored.metadata));
  return {
    at: metadata.occurred_at,
    actor: metadata.actor,
    impersonatedBy: metadata.impersonated_by,
    ...actionOf(stored, metadata.$correlationId),
    position: stored.position,
    request_id: metadata.$correlationId,
  };
};

const actionOf = (stored: StoredEvent, requestId: string): Pick<Entry, 'action' | 'subject'> => {
  const action = snakeCase(stored.type);
  if (stored.type === ImpersonatedRequestMade.type) {
    const request = ImpersonatedRequestMade.schema.parse(JSON.parse(stored.data));
    return {
      action: snakeCase(request.operation_id),
      subject: subjectOf(request.route, request.params) ?? { kind: 'request', id: requestId },
    };
  }
  if (stored.type === ImpersonationStarted.type) {
    const { user_id } = ImpersonationStarted.schema.parse(JSON.parse(stored.data));
    return { action, subject: { kind: 'user', id: user_id } };
  }
  const { category, id } = parseStreamName(stored.stream);
  return { action, subject: { kind: category, id } };
};

const selects = ({ actor, action, from, to }: LogQuery, entry: Entry): boolean =>
  (actor === undefined || entry.actor.id === actor) &&
  (action === undefined || entry.action === action) &&
  (from === undefined || entry.at >= from) &&
  (to === undefined || entry.at < to);

/** The person whose e-mail is shown; for an extension, the person who loaded it. */
const personOf = ({ kind, id, user_id }: Actor): string | undefined =>
  kind === 'user' ? id : kind === 'extension' ? user_id : undefined;

/** Converts `ApiTestTokenGenerated` and `listUsers` to `api_test_token_generated` and `list_users`. */
export const snakeCase = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();

/** The subject of a path: its last id, and as kind the segment before that id (`…/entries/:id` is an `entry`). */
export const subjectOf = (
  route: string,
  params: Readonly<Record<string, string>>,
): { kind: string; id: string } | undefined => {
  const segments = route.split('/');
  for (let at = segments.length - 1; at > 0; at -= 1) {
    const segment = segments[at] ?? '';
    const id = segment.startsWith(':') ? params[segment.slice(1)] : undefined;
    if (id !== undefined) return { kind: singular(segments[at - 1] ?? ''), id };
  }
  return undefined;
};

const singular = (segment: string): string =>
  segment.replaceAll('-', '_').replace(/ies$/, 'y').replace(/s$/, '');
