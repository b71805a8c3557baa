import { ApiError, type Client, createClient, type MessageEnvelope, type SocketState } from '../src/index.ts';

/**
 * A chat over the client: people, messages of a conversation, and new messages as they arrive, across lost
 * connections. The page keeps the token in memory only, and its policy allows no inline script and no other origin.
 */

const MESSAGES = '/api/v1/tenant/messaging/conversations/{id}/messages';

interface Person {
  readonly id: string;
  readonly display_name: string;
}

interface Shown {
  readonly id: string;
  readonly sender_user_id: string;
  readonly created_at: string;
  readonly body?: string | undefined;
}

const element = <E extends HTMLElement>(id: string, kind: new () => E): E => {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
};

const page = {
  signIn: element('sign-in', HTMLFormElement),
  refusal: element('refusal', HTMLParagraphElement),
  chat: element('chat', HTMLElement),
  state: element('state', HTMLParagraphElement),
  people: element('people', HTMLUListElement),
  title: element('title', HTMLHeadingElement),
  messages: element('messages', HTMLOListElement),
  say: element('say', HTMLFormElement),
};

const field = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '');

/** The text of an error for people. */
const explain = (error: unknown): string =>
  error instanceof ApiError ? error.message : 'The server cannot be reached.';

class Chat {
  readonly #client: Client;
  readonly #me: string;
  readonly #people = new Map<string, Person>();
  /** Ids of conversations by the other person's id. */
  readonly #conversations = new Map<string, string>();
  readonly #unread = new Set<string>();
  #open: string | undefined;
  /** Messages of the open conversation that came over the socket. */
  #arrived: Shown[] = [];

  constructor(client: Client, me: string) {
    this.#client = client;
    this.#me = me;
  }

  /** Shows people, and follows messages. */
  start(): void {
    this.#client.socket({
      onEnvelope: (envelope) => {
        if (envelope.kind === 'message') this.#take(envelope);
      },
      onState: (state) => this.#tell(state),
      // Some envelopes could not be sent, so the messages must be read again.
      onResync: () => void this.#read(),
    });
  }

  async open(person: Person): Promise<void> {
    const known = this.#conversations.get(person.id);
    const body = { participant_user_ids: [person.id] };
    const id = known ?? (await this.#client.post('/api/v1/tenant/messaging/conversations', { body })).id;
    this.#conversations.set(person.id, id);
    this.#open = id;
    this.#arrived = [];
    page.title.textContent = person.display_name;
    page.say.hidden = false;
    await this.#readMessages();
  }

  async say(body: string): Promise<void> {
    if (this.#open === undefined) return;
    // The message is shown when it arrives over the socket, like messages of other people.
    await this.#client.post(MESSAGES, { params: { path: { id: this.#open } }, body: { body } });
  }

  #tell(state: SocketState): void {
    switch (state.kind) {
      case 'connecting':
        page.state.textContent = 'Connecting …';
        break;
      case 'ready':
        page.state.textContent = 'Connected';
        // After a resume the missed messages follow; otherwise they must be read.
        if (!state.resumed) void this.#read();
        break;
      case 'waiting':
        page.state.textContent = `Connection lost, trying again in ${Math.ceil(state.ms / 1000)} s`;
        break;
      case 'closed':
        page.state.textContent = state.error?.message ?? 'Signed out';
        break;
      default:
        state satisfies never;
    }
  }

  async #read(): Promise<void> {
    for await (const person of this.#client.items('/api/v1/tenant/users'))
      this.#people.set(person.id, person);
    for await (const one of this.#client.items('/api/v1/tenant/messaging/conversations')) {
      const others = one.participants.filter(({ user_id }) => user_id !== this.#me);
      const [other] = others;
      if (other === undefined || others.length > 1) continue;
      this.#conversations.set(other.user_id, one.id);
      if (one.unread_count > 0) this.#unread.add(one.id);
    }
    this.#showPeople();
    await this.#readMessages();
  }

  async #readMessages(): Promise<void> {
    const id = this.#open;
    if (id === undefined) return;
    const params = { path: { id } };
    const messages = await this.#client.get(MESSAGES, { params: { ...params, query: { limit: 200 } } });
    if (id !== this.#open) return;
    page.messages.replaceChildren();
    // A message that came while these were read may be missing among them.
    const last = messages.at(-1)?.created_at ?? '';
    const later = this.#arrived.filter(({ created_at }) => created_at >= last);
    for (const message of [...messages, ...later]) this.#show(message);
    this.#unread.delete(id);
    this.#showPeople();
    await this.#client.post('/api/v1/tenant/messaging/conversations/{id}/read', { params });
  }

  #take({ conversation_id: id, message }: MessageEnvelope): void {
    if (id === this.#open) {
      this.#arrived.push(message);
      this.#show(message);
    } else {
      this.#unread.add(id);
      if (![...this.#conversations.values()].includes(id)) void this.#read();
      this.#showPeople();
    }
  }

  /** A message that was read over REST may also come over the socket. */
  #show({ id, sender_user_id, body }: Shown): void {
    if (page.messages.querySelector(`[data-id="${CSS.escape(id)}"]`) !== null) return;
    const item = document.createElement('li');
    item.dataset.id = id;
    item.dataset.sender = this.#people.get(sender_user_id)?.display_name ?? 'Somebody';
    item.textContent = body ?? '(deleted)';
    page.messages.append(item);
    item.scrollIntoView({ block: 'end' });
  }

  #showPeople(): void {
    const items = [...this.#people.values()]
      .filter(({ id }) => id !== this.#me)
      .map((person) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = person.display_name;
        button.classList.toggle('unread', this.#unread.has(this.#conversations.get(person.id) ?? ''));
        button.addEventListener('click', () => void this.open(person));
        const item = document.createElement('li');
        item.append(button);
        return item;
      });
    page.people.replaceChildren(...items);
  }
}

let chat: Chat | undefined;

const signIn = async (): Promise<void> => {
  const url = location.origin;
  const body = { email: field(page.signIn, 'email'), password: field(page.signIn, 'password') };
  const { token, user } = await createClient({ url }).post('/auth/login', { body });
  chat = new Chat(createClient({ url, token }), user.id);
  page.signIn.hidden = true;
  page.chat.hidden = false;
  chat.start();
};

page.signIn.addEventListener('submit', (event) => {
  event.preventDefault();
  signIn().catch((error: unknown) => {
    page.refusal.textContent = explain(error);
  });
});

page.say.addEventListener('submit', (event) => {
  event.preventDefault();
  const body = field(page.say, 'body');
  page.say.reset();
  chat?.say(body).catch((error: unknown) => {
    page.state.textContent = explain(error);
  });
});
