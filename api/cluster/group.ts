import { ownerOf } from '../../application/core/events/stream-name.ts';
import type { ReadModels } from '../../application/core/projections/read-models.ts';
import { isOfRequest } from '../../application/core/projections/request-writes.ts';
import type { LiveFeed } from '../../application/core/subscriptions/live-feed.ts';
import type { EventStore } from '../../application/ports/event-store.ts';
import type { HttpMetrics } from '../http/metrics.ts';
import type { SocketLimits } from '../ws/peers.ts';
import type { Member } from './member.ts';

/** Behaviour of a process of a group: processes that share one port (`WORKERS`, decision 57). */

/**
 * Waits until this process's live feed has reached the end of the shared log. A request then sees every write that any
 * process of the group answered before the request: its reads wait until the read models have folded these writes.
 */
export const catchUpIn = ({
  events,
  feed,
  readModels,
}: {
  readonly events: Pick<EventStore, 'end'>;
  readonly feed: Pick<LiveFeed, 'hasReached' | 'reach' | 'onStored'>;
  readonly readModels: Pick<ReadModels, 'answered'>;
}): (() => Promise<void>) => {
  feed.onStored((event) => {
    if (isOfRequest(event)) readModels.answered(ownerOf(event.stream), event.position);
  });
  return async () => {
    const end = await events.end();
    if (end !== undefined && !feed.hasReached(end)) await feed.reach(end);
  };
};

/** Metrics of the whole group, or of this process alone when the supervisor does not answer. */
export const metricsOfGroup = (member: Member, own: HttpMetrics): HttpMetrics => {
  member.collectFrom(() => own.snapshot());
  return { ...own, expose: async () => (await member.scrape()) ?? own.expose() };
};

/** One process's share of the limits: the kernel distributes the sockets of a user over all processes. */
export const shareOf = ({ perUser, perTenant }: SocketLimits, processes: number): SocketLimits => ({
  perUser: Math.ceil(perUser / processes),
  perTenant: Math.ceil(perTenant / processes),
});
