import { z } from 'zod';
import type { Listener } from '../listener.ts';
import { allDocuments, eventsOf, type Fact, sealedTexts } from '../log.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  type Page,
  PerTenant,
  prepared,
  type Report,
  type Tenant,
  twiceIn,
  V1,
  withId,
} from './area.ts';

const CONVERSATIONS = `${V1}/messaging/conversations`;

const conversationList = z.array(
  z.looseObject({
    id: z.string(),
    unread_count: z.number(),
    participants: z.array(z.looseObject({ user_id: z.string(), last_read_at: z.string().nullable() })),
  }),
);
const messageList = z.array(
  z.looseObject({
    id: z.string(),
    sender_user_id: z.string(),
    body: z.string().optional(),
    created_at: z.string(),
    deleted_at: z.string().nullable(),
  }),
);

const mentioned = z.array(z.string());
const marking = z.looseObject({ marked: z.number() });
const counted = z.looseObject({ unread: z.number() });

interface Sent {
  readonly id: string;
  readonly conversation: string;
  readonly sender: Actor;
}

export const idOf = (kind: 'message' | 'notification', id: string): string => `${kind} ${id}`;

/** Conversations, mentions, notifications and the socket. */
export class Messaging implements Area {
  readonly name = 'messaging';
  readonly #context: Context;
  readonly #listeners: readonly Listener[];
  readonly #conversations = new PerTenant<string>();
  readonly #messages = new PerTenant<Sent>();
  /** Every text that a message was given, by the message's id. */
  readonly #texts = new Map<string, string[]>();
  readonly #faults: string[] = [];

  constructor(context: Context, listeners: readonly Listener[]) {
    this.#context = context;
    this.#listeners = listeners;
  }

  async prepare(tenant: Tenant): Promise<void> {
    const { people, admin } = tenant;
    for (const others of [people.slice(1, 2), people.slice(1)]) {
      const made = await prepared(admin.client, CONVERSATIONS, {
        participant_user_ids: others.map((one) => one.id),
      });
      this.#conversations.of(tenant).push(withId.parse(made).id);
    }
  }

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const own = this.#messages.of(tenant).filter(({ sender }) => sender === actor);
    const { dice, requests } = this.#context;
    return [
      [10, () => this.#send(tenant, actor)],
      [
        own.length === 0 ? 0 : 2,
        async () => {
          const { id, conversation } = dice.pick(own);
          const body = { body: `edited ${requests.length} ${dice.between(1, 2 ** 30)}` };
          this.#texts.get(id)?.push(body.body);
          const path = `${CONVERSATIONS}/${conversation}/messages/${id}`;
          await actor.client.write('PATCH', path, body, { what: 'edit', event: 'MessageEdited' });
        },
      ],
      [
        own.length === 0 ? 0 : 2,
        async () => {
          const { id, conversation } = dice.pick(own);
          const path = `${CONVERSATIONS}/${conversation}/messages/${id}`;
          await actor.client.write('DELETE', path, undefined, { what: 'delete' });
        },
      ],
      [
        4,
        async () => {
          const path = `${CONVERSATIONS}/${this.#conversationOf(tenant, actor)}/read`;
          await actor.client.write('POST', path, undefined, { what: 'read' });
        },
      ],
      [
        2,
        async () => {
          const path = `${V1}/notifications/mark-read`;
          await actor.client.write('POST', path, { all: true }, { what: 'mark' });
        },
      ],
    ];
  }

  pages(tenant: Tenant, actor: Actor): readonly Page[] {
    const messages = `${CONVERSATIONS}/${this.#conversationOf(tenant, actor)}/messages?limit=50`;
    return [
      {
        path: `${CONVERSATIONS}?limit=50`,
        wrong: (body) => {
          const list = conversationList.parse(body);
          const isOwn = list.every(({ participants }) =>
            participants.some((one) => one.user_id === actor.id),
          );
          if (!isOwn) return 'a conversation is of others';
          return list.some(({ unread_count: unread }) => unread < 0) ? 'a count is negative' : twiceIn(list);
        },
      },
      {
        path: messages,
        wrong: (body) => {
          const list = messageList.parse(body);
          const isShown = list.some((one) => one.deleted_at !== null && one.body !== undefined);
          return isShown ? 'a deleted message shows a text' : twiceIn(list);
        },
      },
      {
        path: `${V1}/notifications/unread-count`,
        wrong: (body) => (counted.parse(body).unread < 0 ? 'the count is negative' : undefined),
      },
      { path: `${V1}/notifications?limit=50`, wrong: (body) => twiceIn(z.array(withId).parse(body)) },
    ];
  }

  /** The first conversation is between the first two people. */
  #conversationOf(tenant: Tenant, actor: Actor): string {
    const all = this.#conversations.of(tenant);
    return this.#context.dice.pick(actor === tenant.people[2] ? all.slice(1) : all);
  }

  async #send(tenant: Tenant, actor: Actor): Promise<void> {
    const { dice, requests } = this.#context;
    const conversation = this.#conversationOf(tenant, actor);
    const mention = dice.chance(0.3) ? ` @[x](user:${dice.pick(tenant.people).id})` : '';
    const text = `text ${requests.length} ${dice.between(1, 2 ** 30)}`;
    const messages = `${CONVERSATIONS}/${conversation}/messages`;
    const sent = { what: 'send', event: 'MessageSent' };
    const reply = await actor.client.write('POST', messages, { body: `${text}${mention}` }, sent);
    if (reply?.status !== 201) return;
    const { id } = withId.parse(reply.body);
    this.#texts.set(id, [text]);
    if (dice.chance(0.5)) {
      // Nothing edits the message before it is in the list of messages.
      const { status, body } = await actor.client.getAfter(reply, `${messages}?limit=200`);
      const shown = status === 200 ? messageList.parse(body).find((one) => one.id === id)?.body : undefined;
      if (status < 500 && !shown?.startsWith(text))
        this.#faults.push(`${id} is not shown to its sender at once`);
    }
    this.#messages.of(tenant).push({ id, conversation, sender: actor });
  }

  async check(log: readonly Fact[], report: Report): Promise<void> {
    this.#faults.forEach(report);
    for (const listener of this.#listeners) this.#checkListener(log, listener, report);
    await this.#checkDeleted(log, report);
    for (const tenant of this.#context.tenants) {
      const { people } = tenant;
      checkMentions(log, tenant, report);
      for (const person of people) {
        await this.#checkUnread(person, report);
        await this.#checkInbox(log, tenant, person, report);
      }
    }
    const sealed = await sealedTexts(this.#context.world);
    for (const data of [...log.map((event) => event.data), ...sealed]) {
      if (/(text|edited) \d+ \d/.test(data)) report(`a text is stored unsealed: ${data.slice(0, 200)}`);
    }
  }

  /** The text of a deleted message is nowhere. */
  async #checkDeleted(log: readonly Fact[], report: Report): Promise<void> {
    const erased = log
      .filter(({ type }) => type === 'MessageDeleted')
      .flatMap(({ facts }) => this.#texts.get(String(facts.message_id)) ?? []);
    if (erased.length === 0) return;
    const documents = await allDocuments(this.#context.world);
    for (const text of erased) {
      const found = documents.find((document) => document.includes(text));
      if (found !== undefined) report(`the deleted text ${text} is in ${found.slice(0, 200)}`);
    }
  }

  /** No notification is marked twice, each answer tells how many it marked, and all that are not marked are unread. */
  async #checkInbox(
    log: readonly Fact[],
    tenant: Tenant,
    { id, client }: Actor,
    report: Report,
  ): Promise<void> {
    const inbox = log.filter(({ stream }) => stream === `${tenant.id}.inbox-${id}`);
    const idsOf = ({ facts }: Fact): string[] => mentioned.parse(facts.notification_ids);
    const raised = inbox.filter(({ type }) => type === 'NotificationRaised').length;
    const read = inbox.filter(({ type }) => type === 'NotificationsRead').flatMap(idsOf);
    if (new Set(read).size !== read.length) report(`a notification of ${id} was marked twice`);
    const reply = await client.get(`${V1}/notifications/unread-count`);
    const { unread } = counted.parse(reply.body);
    if (unread !== raised - read.length)
      report(`${id} has ${unread} unread notifications, by the log ${raised - read.length}`);
    for (const request of this.#context.requests) {
      if (request.what !== 'mark' || request.outcome !== 'acknowledged' || request.isRepeated) continue;
      const own = inbox.filter(
        ({ correlation, type }) => correlation === request.id && type === 'NotificationsRead',
      );
      const { marked } = marking.parse(request.reply?.body);
      if (request.by === id && own.flatMap(idsOf).length !== marked)
        report(`${request.id} was told that it marked ${marked}, by the log ${own.flatMap(idsOf).length}`);
    }
  }

  /** A listener got each of its envelopes once, in log order; it ran long enough to get the last one. */
  #checkListener(log: readonly Fact[], { actor, heard, faults, from }: Listener, report: Report): void {
    faults.forEach((fault) => void report(`${actor.id}: ${fault}`));
    if (from === undefined) return;
    const own = { id: actor.tenantId };
    const conversations = new Set(
      eventsOf(log, own, 'ConversationStarted')
        .filter(({ data }) => data.includes(`"${actor.id}"`))
        .map(({ stream }) => stream),
    );
    const deleted = new Set(
      eventsOf(log, own, 'MessageDeleted').map(({ facts }) => idOf('message', String(facts.message_id))),
    );
    const inbox = `${actor.tenantId}.inbox-${actor.id}`;
    const expected = eventsOf(log, own, 'MessageSent', 'NotificationRaised').flatMap(
      ({ type, stream, facts, position }) => {
        if (position <= from) return [];
        if (type === 'MessageSent')
          return conversations.has(stream) ? [idOf('message', String(facts.message_id))] : [];
        return stream === inbox ? [idOf('notification', String(facts.notification_id))] : [];
      },
    );
    const twice = heard.filter((id, at) => heard.indexOf(id) !== at);
    if (twice.length > 0) report(`${actor.id} heard twice: ${twice.join(', ')}`);
    const known = new Set(heard);
    // The text of a deleted message is gone, so a replay leaves it out.
    const missed = expected.filter((id) => !known.has(id) && !deleted.has(id));
    if (missed.length > 0)
      report(`${actor.id} did not hear ${missed.length} of ${expected.length}: ${missed.slice(0, 3)}`);
    const meant = new Set(expected);
    const foreign = heard.filter((id) => !meant.has(id));
    if (foreign.length > 0) report(`${actor.id} heard what is not for it: ${foreign.slice(0, 3).join(', ')}`);
    const order = expected.filter((id) => known.has(id));
    if (order.join() !== heard.filter((id) => meant.has(id)).join())
      report(`${actor.id} heard envelopes out of order`);
  }

  /** Each count equals the specification's definition over the messages; a deleted message has no text. */
  async #checkUnread({ id, client }: Actor, report: Report): Promise<void> {
    const list = conversationList.parse((await client.get(`${CONVERSATIONS}?limit=200`)).body);
    for (const conversation of list) {
      const all: z.output<typeof messageList> = [];
      let path: string | undefined = `${CONVERSATIONS}/${conversation.id}/messages?limit=200`;
      while (path !== undefined) {
        const reply = await client.get(path);
        all.push(...messageList.parse(reply.body));
        path = /^<([^>]+)>/.exec(String(reply.headers.link ?? ''))?.[1];
      }
      const readAt = conversation.participants.find(({ user_id }) => user_id === id)?.last_read_at ?? null;
      const unread = all.filter(
        (one) =>
          one.sender_user_id !== id &&
          one.deleted_at === null &&
          (readAt === null || one.created_at > readAt),
      ).length;
      if (unread !== conversation.unread_count)
        report(
          `${id} has ${conversation.unread_count} unread messages in ${conversation.id}, by definition ${unread}`,
        );
      const shown = all.find((one) => one.deleted_at !== null && one.body !== undefined);
      if (shown !== undefined) report(`the deleted message ${shown.id} shows a text`);
    }
  }
}

/** Each mention of a message in the log raised one notification. */
const checkMentions = (log: readonly Fact[], tenant: Tenant, report: Report): void => {
  const mentions = eventsOf(log, tenant, 'MessageSent').flatMap(({ facts }) =>
    mentioned.parse(facts.mentioned_user_ids).map((id) => `${id} by ${facts.message_id}`),
  );
  const raised = eventsOf(log, tenant, 'NotificationRaised').map(
    ({ facts }) => `${facts.recipient_user_id} by ${facts.note_id}`,
  );
  if (raised.toSorted().join() !== mentions.toSorted().join())
    report(`${mentions.length} mentions in ${tenant.id} raised ${raised.length} notifications`);
};
