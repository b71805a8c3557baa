import { platformCollection } from '../../domain/core/collection.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import { type DocumentReader, iso, type PageEnd, projection } from '../../domain/core/projection.ts';
import type { PostingFailureEvent } from '../../domain/ledger/posting-failure.ts';
import type { DeliveryEvent } from '../../domain/webhooks/delivery.ts';
import type { SubscriptionEvent } from '../../domain/webhooks/subscription.ts';

/**
 * Work of all tenants that waits for a person, counted for the platform's operator (`GET /metrics`). Work has a
 * document only while it is open, so that counting reads few rows. All documents are stored under the platform.
 */

interface OpenDoc {
  readonly since: string;
}

interface DeadLetterDoc {
  /** Null while a replay is due. */
  readonly since: string | null;
  readonly replay: string | null;
}

const subscriptions = platformCollection<OpenDoc>('paused_subscriptions');
const failures = platformCollection<OpenDoc>('posting_failures');
const deadLetters = platformCollection<DeadLetterDoc>('dead_letters');

/** An attempt ends the replay that it answers; a replay that was requested during the attempt is still due. */
const ended =
  (replayId: string | undefined, since: string | undefined) =>
  (doc: DeadLetterDoc | undefined): DeadLetterDoc | undefined => {
    const isOwed = doc !== undefined && doc.replay !== null && doc.replay !== replayId;
    if (isOwed) return doc;
    return since === undefined ? undefined : { since, replay: null };
  };

/** Touches no document unless the attempt answers a replay: most deliveries succeed at once without a document. */
const replayEnded = ({ data }: { data: { delivery_id: string; replay_id?: string | undefined } }) =>
  data.replay_id === undefined ? [] : [deadLetters.touch(data.delivery_id, ended(data.replay_id, undefined))];

type Open = DeliveryEvent | PostingFailureEvent | SubscriptionEvent;

const index = [{ name: 'by_since', fields: ['since'], present: 'since' }];

export const openWorkProjection = projection<Open>({
  name: 'open_work',
  version: 1,
  collections: [
    { name: 'dead_letters', indexes: index },
    { name: 'paused_subscriptions', indexes: index },
    { name: 'posting_failures', indexes: index },
  ],
  on: {
    DeliveryDeadLettered: ({ data, at }) => [
      deadLetters.touch(data.delivery_id, ended(data.replay_id, iso(at))),
    ],
    DeliverySucceeded: replayEnded,
    DeliveryFailed: replayEnded,
    DeliveryRefused: replayEnded,
    DeliveryReplayRequested: ({ data }) => [
      deadLetters.put(data.delivery_id, { since: null, replay: data.replay_id }),
    ],
    DeliveryDropped: ({ data }) => [deadLetters.remove(data.delivery_id)],
    WebhookPaused: ({ data, at }) => [subscriptions.put(data.subscription_id, { since: iso(at) })],
    WebhookActivated: ({ data }) => [subscriptions.remove(data.subscription_id)],
    WebhookDeleted: ({ data }) => [subscriptions.remove(data.subscription_id)],
    PostingRuleFailed: ({ data, at }) => [failures.put(data.failure_id, { since: iso(at) })],
    PostingFailureResolved: ({ data }) => [failures.remove(data.failure_id)],
  },
});

// Queries

type OpenKind = 'dead_letters' | 'paused_subscriptions' | 'posting_failures';

/** Counting stops at this number, which bounds the work of a count. */
const MOST_COUNTED = 10_000;
const PAGE = 1_000;

/** Number of open documents of a kind, of all tenants, up to {@link MOST_COUNTED}. */
export const openOf = async (reader: Pick<DocumentReader, 'entries'>, kind: OpenKind): Promise<number> => {
  let count = 0;
  let after: PageEnd | undefined;
  while (count < MOST_COUNTED) {
    const query = { index: 'by_since', equals: [], order: 'asc', limit: PAGE, after } as const;
    const page = await reader.entries(kind, PLATFORM, query);
    count += page.length;
    after = page.at(-1);
    if (page.length < PAGE) break;
  }
  return count;
};
