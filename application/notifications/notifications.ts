import { invalid } from '../../domain/core/errors.ts';
import {
  type Inbox,
  type InboxEvent,
  inboxStream,
  type MarkNotificationsRead,
  markNotificationsRead,
} from '../../domain/notifications/inbox.ts';
import type { Outcome } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Position } from '../ports/event-store.ts';

/** Use cases of a person's notifications (specification, Notifications). */
export class Notifications {
  readonly #streams: Streams;
  readonly #end: () => Promise<Position | undefined>;

  /** @param end the end of the log: the position of a marking without an inbox */
  constructor(streams: Streams, end: () => Promise<Position | undefined>) {
    this.#streams = streams;
    this.#end = end;
  }

  /**
   * Marks unread notifications among `ids`, or all; returns the number changed.
   * @throws `validation_failed` with neither or both of `ids` and `all: true`
   */
  async markRead(
    tenantId: string,
    userId: string,
    request: { readonly ids?: readonly string[] | undefined; readonly all?: boolean | undefined },
    context: RequestContext,
  ): Promise<{ marked: number; position: Position | undefined }> {
    const hasIds = request.ids !== undefined && request.ids.length > 0;
    if (hasIds === (request.all === true)) {
      throw invalid([
        { path: 'ids', code: 'custom', message: 'Give either a non-empty list of ids or all: true.' },
      ]);
    }
    const command: MarkNotificationsRead =
      request.all === true ? { userId, all: true } : { userId, ids: request.ids ?? [] };
    const outcome: Outcome<Inbox, InboxEvent> = await this.#streams
      .of(inboxStream, tenantId, userId)
      .execute(context, (state) => markNotificationsRead(state, command));
    const marked = outcome.events.reduce(
      (sum, event) => sum + (event.type === 'NotificationsRead' ? event.data.notification_ids.length : 0),
      0,
    );
    return { marked, position: outcome.position ?? (await this.#end()) };
  }
}
