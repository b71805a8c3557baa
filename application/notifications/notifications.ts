import { invalid } from '../../domain/core/errors.ts';
import { inboxStream, markNotificationsRead } from '../../domain/notifications/inbox.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
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
    const { events, position } = await this.deps.streams
      .of(inboxStream, tenantId, userId)
      .execute(context, (state) => markNotificationsRead(state, { userId, ids }));
    const marked = events.reduce(
      (sum, event) => sum + (event.type === 'NotificationsRead' ? event.data.notification_ids.length : 0),
      0,
    );
    return { marked, position: position ?? (await this.deps.end()) };
  }
}
