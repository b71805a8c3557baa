import { questionDecider } from '../domain/assistant/question.ts';
import { bulkDecider } from '../domain/bulk/session.ts';
import type { Decider } from '../domain/decider.ts';
import { recordDecider } from '../domain/entities/record.ts';
import { schemaDecider } from '../domain/entities/schema.ts';
import { extensionDecider } from '../domain/extensions/extension.ts';
import { fileDecider } from '../domain/files/file.ts';
import { formDecider } from '../domain/forms/form.ts';
import { formSlugDecider } from '../domain/forms/slug.ts';
import { submissionDecider } from '../domain/forms/submission.ts';
import { apiTokenDecider } from '../domain/identity/api-token.ts';
import { emailDecider } from '../domain/identity/email.ts';
import { impersonationDecider } from '../domain/identity/impersonation.ts';
import { ssoIdentityDecider } from '../domain/identity/sso-identity.ts';
import { testTokenDecider } from '../domain/identity/test-token.ts';
import { userDecider } from '../domain/identity/user.ts';
import { entryDecider } from '../domain/ledger/entry.ts';
import { journalDecider } from '../domain/ledger/journal.ts';
import { postingFailureDecider } from '../domain/ledger/posting-failure.ts';
import { postingRulesDecider } from '../domain/ledger/posting-rule.ts';
import { conversationDecider } from '../domain/messaging/conversation.ts';
import { inboxDecider } from '../domain/notifications/inbox.ts';
import { deliveryDecider } from '../domain/webhooks/delivery.ts';
import { subscriptionsDecider } from '../domain/webhooks/subscription.ts';
import { linkDecider } from '../domain/workflow/link.ts';
import { workflowDecider } from '../domain/workflow/workflow.ts';
import type { AnyDecider } from './stream-states.ts';

/** How the state of a category's streams is shown to a tenant's auditors. */
export interface StateView {
  readonly decider: AnyDecider;
  /** Members with a time in ms; 0 is none. */
  readonly times: ReadonlySet<string>;
  /** Members with a sealed text that is opened. Any other sealed text is shown as it is kept. */
  readonly opened: ReadonlySet<string>;
  /** Members that are left out, beside all whose name looks like a credential's. */
  readonly omitted: ReadonlySet<string>;
  /** Members with the tenant's own JSON: below them names say nothing and are kept. */
  readonly own: ReadonlySet<string>;
  /** Members that hold things by their ids or codes: shown as a list. */
  readonly listed: ReadonlySet<string>;
}

interface Members {
  readonly times?: readonly string[];
  readonly opened?: readonly string[];
  readonly omitted?: readonly string[];
  readonly own?: readonly string[];
  readonly listed?: readonly string[];
}

const view = <S, E>(decider: Decider<S, E>, members: Members = {}): readonly [string, StateView] => [
  decider.category,
  {
    decider,
    times: new Set(members.times),
    opened: new Set(members.opened),
    omitted: new Set(members.omitted),
    own: new Set(members.own),
    listed: new Set(members.listed),
  },
];

const CHANGED = ['createdAt', 'updatedAt'];

/** By category; who adds a decider of tenants adds its view, which a test asks for. */
export const STATE_VIEWS: ReadonlyMap<string, StateView> = new Map([
  view(userDecider, {
    times: ['createdAt'],
    opened: ['email', 'displayName'],
    omitted: ['passwordHash', 'emailHash'],
  }),
  view(emailDecider, { times: ['since'] }),
  view(ssoIdentityDecider),
  view(apiTokenDecider, {
    times: ['createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt'],
    omitted: ['secretHash'],
  }),
  view(testTokenDecider),
  view(impersonationDecider),
  view(extensionDecider, { times: CHANGED }),
  view(conversationDecider, { times: ['createdAt', 'lastReadAt'] }),
  view(inboxDecider),
  view(recordDecider, {
    times: [...CHANGED, 'startedAt', 'movedAt', 'at'],
    own: ['values', 'types', 'registrations'],
  }),
  view(schemaDecider, { times: [...CHANGED, 'at'], own: ['fields'] }),
  view(workflowDecider, { times: [...CHANGED, 'publishedAt', 'at'], own: ['draft', 'published'] }),
  view(linkDecider, { times: ['expiresAt'], omitted: ['tokenHash'] }),
  view(fileDecider, { times: ['createdAt'] }),
  view(formDecider, { times: CHANGED, own: ['fields'] }),
  view(formSlugDecider, { times: ['since'] }),
  view(submissionDecider),
  view(journalDecider, { times: ['openedAt', 'changedAt'], listed: ['chart'] }),
  view(entryDecider, { times: ['createdAt'] }),
  view(postingRulesDecider, { times: CHANGED, listed: ['byId'] }),
  view(postingFailureDecider, { times: ['createdAt', 'resolvedAt'] }),
  view(questionDecider),
  view(subscriptionsDecider, {
    times: [...CHANGED, 'until', 'secretRotatedAt', 'activatedAt'],
    omitted: ['secret'],
    listed: ['byId'],
  }),
  view(deliveryDecider, { times: ['createdAt', 'lastAttemptAt', 'dueAt', 'deadAt'] }),
  view(bulkDecider, {
    times: ['createdAt', 'commitStartedAt', 'endedAt', 'cancelledAt'],
    own: ['opParams', 'selection'],
  }),
]);

/** Names that are never shown, whatever a view says. */
const CREDENTIAL = /passw|secret|credential|(hash|digest|tail)$/i;

/** When a credential was changed is none: `secretRotatedAt`. */
const isLeftOut = (name: string, { omitted, times }: StateView): boolean =>
  omitted.has(name) || (CREDENTIAL.test(name) && !times.has(name));

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * A state as JSON: names as the interface has them, times as instants, sealed texts opened where the view says so, what is
 * a credential left out.
 * @param open the text of a sealed one
 */
export const shownState = async (
  state: unknown,
  of: StateView,
  open: (sealed: string) => Promise<string>,
): Promise<unknown> => {
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
      if (of.own.has(name)) members.push([key, member]);
      else if (of.listed.has(name)) members.push([key, await shown(Object.values(member as object))]);
      else if (of.times.has(name) && typeof member === 'number') {
        members.push([key, member === 0 ? null : new Date(member).toISOString()]);
      } else if (of.opened.has(name) && typeof member === 'string') members.push([key, await open(member)]);
      else members.push([key, await shown(member)]);
    }
    return Object.fromEntries(members);
  };
  return shown(state);
};
