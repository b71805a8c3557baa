import { invalid } from '../../domain/core/errors.ts';
import { inboxStream, MARKED_TOGETHER, markNotificationsRead } from '../../domain/notifications/inbox.ts';
import type { Written } from '../core/commands/command.ts';
import { type RequestContext, uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';

/** Use cases of a person's notifications (specification, Notifications). */
export class Notifications extends WithDeps<{
  readonly streams: Streams;
  /** The end of the log, answered as the position when the person has no inbox. */
  readonly end: () => Promise<Position | undefined>;
}> {
  /**
   * Marks unread notifications among `ids`, or all; returns the number of notifications marked.
   * @throws `validation_failed` unless the request has exactly one of non-empty `ids` and `all: true`
   */
  async markRead(
    tenantId: string,
    userId: string,
    request: { readonly ids?: readonly string[] | undefined; readonly all?: boolean | undefined },
    context: RequestContext,
  ): Promise<Written<{ marked: number }>> {
    const hasIds = request.ids !== undefined && request.ids.length > 0;
    if (hasIds === (request.all === true)) {
      throw invalid([
        { path: 'ids', code: 'custom', message: 'Send either a non-empty list of ids or all: true.' },
      ]);
    }
    const ids = request.all === true ? undefined : request.ids;
    const inbox = this.deps.streams.of(inboxStream, tenantId, userId);
    let marked = 0;
    for (let part = 0; ; part += 1) {
      // Each part has a causation id of its own, by which a retry of the request finds the part's events.
      const { causationId: id } = context.cause;
      const causationId = part === 0 ? id : uuidFromName(`mark-read\n${id}\n${part}`);
      const { events, position } = await inbox.execute(
        { ...context, cause: { ...context.cause, causationId } },
        (state) => markNotificationsRead(state, { userId, ids }),
      );
      const count = events.reduce(
        (sum, event) => sum + (event.type === 'NotificationsRead' ? event.data.notification_ids.length : 0),
        0,
      );
      marked += count;
      if (count < MARKED_TOGETHER) return { marked, position: position ?? (await this.deps.end()) };
    }
  }
}
