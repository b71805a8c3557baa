import { questionStream } from '../../domain/assistant/question.ts';
import { bulkStream } from '../../domain/bulk/session.ts';
import type { StreamType } from '../../domain/core/stream-type.ts';
import { recordStream } from '../../domain/entities/record.ts';
import { schemaStream } from '../../domain/entities/schema.ts';
import { extensionStream } from '../../domain/extensions/extension.ts';
import { fileStream } from '../../domain/files/file.ts';
import { formStream } from '../../domain/forms/form.ts';
import { formSlugStream } from '../../domain/forms/slug.ts';
import { submissionStream } from '../../domain/forms/submission.ts';
import { adminsStream } from '../../domain/identity/admins.ts';
import { apiTokenStream } from '../../domain/identity/api-token.ts';
import { emailStream } from '../../domain/identity/email.ts';
import { impersonationStream } from '../../domain/identity/impersonation.ts';
import { ssoIdentityStream } from '../../domain/identity/sso-identity.ts';
import { testTokenStream } from '../../domain/identity/test-token.ts';
import { userStream } from '../../domain/identity/user.ts';
import { entryStream } from '../../domain/ledger/entry.ts';
import { journalStream } from '../../domain/ledger/journal.ts';
import { postingFailureStream } from '../../domain/ledger/posting-failure.ts';
import { postingRulesStream } from '../../domain/ledger/posting-rule.ts';
import { conversationStream } from '../../domain/messaging/conversation.ts';
import { inboxStream } from '../../domain/notifications/inbox.ts';
import { deliveryStream } from '../../domain/webhooks/delivery.ts';
import { subscriptionsStream } from '../../domain/webhooks/subscription.ts';
import { linkStream } from '../../domain/workflow/link.ts';
import { workflowStream } from '../../domain/workflow/workflow.ts';
import type { AnyStreamType } from '../core/commands/stream-states.ts';
import { snakeCase } from './activity-log.ts';

/** How states of a category are shown to auditors of a tenant. */
interface StateView {
  readonly type: AnyStreamType;
  /** Members that hold a time (ms); 0 for none. */
  readonly times?: readonly string[];
  /** Members with sealed texts to open; other sealed texts are shown sealed. */
  readonly opened?: readonly string[];
  /** Members left out, in addition to members whose names look like a credential. */
  readonly omitted?: readonly string[];
  /** Members with JSON that the tenant defines, shown unchanged. */
  readonly own?: readonly string[];
  /** Members shown as a list, each with the function that makes the list. */
  readonly lists?: Readonly<Record<string, (member: object) => unknown[]>>;
}

const view = <S, E>(
  type: StreamType<S, E>,
  members: Omit<StateView, 'type'> = {},
): readonly [string, StateView] => [type.category, { type, ...members }];

const CHANGED = ['createdAt', 'updatedAt'];

const inChunks = (chunks: object): unknown[] => Object.values(chunks).flat();

/** The entries of all groups, sorted by their keys (ids or codes). */
const inGroups = (groups: object): unknown[] =>
  Object.values(groups)
    .flatMap((group: object) => Object.entries(group))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, entry]) => entry);

/** Views by category; a test requires one for each category of tenant streams. */
export const STATE_VIEWS: ReadonlyMap<string, StateView> = new Map([
  view(userStream, {
    times: ['createdAt', 'expiresAt'],
    opened: ['email', 'displayName'],
    omitted: ['passwordHash', 'emailHash'],
  }),
  view(adminsStream),
  view(emailStream, { times: ['since'] }),
  view(ssoIdentityStream),
  view(apiTokenStream, {
    times: ['createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt'],
    omitted: ['secretHash'],
  }),
  view(testTokenStream),
  view(impersonationStream),
  view(extensionStream, { times: CHANGED }),
  view(conversationStream, { times: ['createdAt', 'lastReadAt'] }),
  view(inboxStream, { lists: { unread: inChunks } }),
  view(recordStream, {
    times: [...CHANGED, 'startedAt', 'movedAt', 'at'],
    own: ['values', 'types', 'registrations'],
  }),
  view(schemaStream, { times: [...CHANGED, 'at'], own: ['fields'] }),
  view(workflowStream, { times: [...CHANGED, 'publishedAt', 'at'], own: ['draft', 'published'] }),
  view(linkStream, { times: ['expiresAt'], omitted: ['tokenHash'] }),
  view(fileStream, { times: ['createdAt'] }),
  view(formStream, { times: CHANGED, own: ['fields'] }),
  view(formSlugStream, { times: ['since'] }),
  view(submissionStream),
  view(journalStream, { times: ['openedAt', 'changedAt'], lists: { chart: inGroups } }),
  view(entryStream, { times: ['createdAt'] }),
  view(postingRulesStream, { times: CHANGED, lists: { byId: Object.values } }),
  view(postingFailureStream, { times: ['createdAt', 'resolvedAt'] }),
  view(questionStream),
  view(subscriptionsStream, {
    times: [...CHANGED, 'until', 'secretRotatedAt', 'activatedAt'],
    omitted: ['secret'],
    lists: { byId: Object.values },
  }),
  view(deliveryStream, { times: ['createdAt', 'lastAttemptAt', 'dueAt', 'deadAt'] }),
  view(bulkStream, {
    times: ['createdAt', 'commitStartedAt', 'endedAt', 'cancelledAt'],
    own: ['opParams', 'selection'],
  }),
]);

/** Names of members that are not shown; see {@link isLeftOut} for times. */
const CREDENTIAL = /passw|secret|credential|(hash|digest|tail)$/i;

/** Members in `times` are shown even if their name looks like a credential: `secretRotatedAt`. */
const isLeftOut = (name: string, { omitted = [], times = [] }: StateView): boolean =>
  omitted.includes(name) || (CREDENTIAL.test(name) && !times.includes(name));

/**
 * Shows a state as JSON: names in snake case, times as instants, sealed texts opened as the view says, credentials left
 * out.
 * @param open opens a sealed text
 */
export const shownState = async (
  state: unknown,
  of: StateView,
  open: (sealed: string) => Promise<string>,
): Promise<unknown> => {
  const { times = [], opened = [], own = [], lists = {} } = of;
  const shown = async (value: unknown): Promise<unknown> => {
    if (value instanceof Map) return shown(Object.fromEntries(value));
    if (value instanceof Set) return shown([...value]);
    if (typeof value === 'bigint') return value.toString();
    if (Array.isArray(value)) return Promise.all(value.map(shown));
    if (typeof value !== 'object' || value === null) return value;
    const members: [string, unknown][] = [];
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined || isLeftOut(name, of)) continue;
      const key = snakeCase(name);
      const asList = Object.hasOwn(lists, name) ? lists[name] : undefined;
      if (own.includes(name)) members.push([key, member]);
      else if (asList !== undefined) members.push([key, await shown(asList(Object(member)))]);
      else if (times.includes(name) && typeof member === 'number') {
        members.push([key, member === 0 ? null : new Date(member).toISOString()]);
      } else if (opened.includes(name) && typeof member === 'string') members.push([key, await open(member)]);
      else members.push([key, await shown(member)]);
    }
    return Object.fromEntries(members);
  };
  return shown(state);
};
