import WebSocket from 'ws';
import { z } from 'zod';
import { eventually, type Server } from './server.ts';
import { notification } from './shapes.ts';

/** A WebSocket client that checks every frame strictly against the specification's envelopes. */

const position = z.string().regex(/^[\x21-\x7e]{1,128}$/);

export const messageEnvelope = z.strictObject({
  kind: z.literal('message'),
  event: z.literal('created'),
  position,
  conversation_id: z.string(),
  message: z.strictObject({
    id: z.string(),
    sender_user_id: z.string(),
    body: z.string(),
    created_at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  }),
});
export const notificationEnvelope = z.strictObject({
  kind: z.literal('notification'),
  event: z.literal('created'),
  position,
  notification,
});
const systemEnvelope = z.strictObject({
  kind: z.literal('system'),
  event: z.enum(['ready', 'resync']),
  position,
});
const envelope = z.discriminatedUnion('kind', [messageEnvelope, notificationEnvelope, systemEnvelope]);
export type Envelope = z.output<typeof envelope>;
/** @throws when the text is not an envelope of the specification */
export const parseEnvelope = (text: string): Envelope => envelope.parse(JSON.parse(text));
export type MessageEnvelope = z.output<typeof messageEnvelope>;

export interface Listening {
  /** All envelopes so far, `ready` included. */
  readonly seen: readonly Envelope[];
  /** The position in `ready`. */
  readonly readyAt: string;
  /** The chosen subprotocol; empty for none. */
  readonly protocol: string;
  readonly raw: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;
  /** Message envelopes; waits until there are `count`. */
  messages(count: number, withinMs?: number): Promise<MessageEnvelope[]>;
  close(): void;
}

export interface ListenOptions {
  readonly after?: string;
  /** Further parameters; a list sends the parameter once for each value. */
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** The place of the token in the handshake; default: the query. */
  readonly by?: 'query' | 'header' | 'subprotocol';
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export const open = (
  server: Pick<Server, 'base'>,
  token: string | undefined,
  options: ListenOptions = {},
): WebSocket => {
  const { after, by = 'query', headers = {}, protocols = [], query = {} } = options;
  const url = new URL(`${server.base.replace('http', 'ws')}/api/v1/ws`);
  for (const [name, value] of Object.entries(query))
    for (const each of [value].flat()) url.searchParams.append(name, each);
  if (after !== undefined) url.searchParams.set('after', after);
  if (token !== undefined && by === 'query') url.searchParams.set('token', token);
  const authorization: Record<string, string> =
    token !== undefined && by === 'header' ? { authorization: `Bearer ${token}` } : {};
  const offered =
    token !== undefined && by === 'subprotocol' ? ['bearer', token, ...protocols] : [...protocols];
  return new WebSocket(url, offered, { headers: { ...authorization, ...headers } });
};

/** Connects and waits for `ready`. */
export const listen = async (
  server: Pick<Server, 'base'>,
  token: string,
  options: ListenOptions = {},
): Promise<Listening> => {
  const raw = open(server, token, options);
  const seen: Envelope[] = [];
  let broken: unknown;
  raw.on('message', (data, isBinary) => {
    try {
      if (isBinary) throw new Error('a binary frame');
      seen.push(parseEnvelope(String(data)));
    } catch (error) {
      broken ??= error;
    }
  });
  raw.on('error', (error) => {
    broken ??= error;
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    raw.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  const until = <T>(what: string, find: () => T | undefined, withinMs = 30_000): Promise<T> =>
    eventually(
      what,
      () => {
        if (broken !== undefined) throw broken;
        const found = find();
        if (found === undefined && raw.readyState === WebSocket.CLOSED) throw new Error('it was closed');
        return found;
      },
      withinMs,
    );
  const ready = await until('ready', () => seen[0]);
  if (ready.kind !== 'system' || ready.event !== 'ready') throw new Error('ready did not come first');
  return {
    seen,
    readyAt: ready.position,
    protocol: raw.protocol,
    raw,
    closed,
    messages: (count, withinMs) =>
      until(
        `${count} message envelopes`,
        () => {
          const found = seen.filter((one) => one.kind === 'message');
          return found.length >= count ? found : undefined;
        },
        withinMs,
      ),
    close: () => raw.close(),
  };
};

/** The status and body of a refused upgrade. */
export const refusal = (
  server: Pick<Server, 'base'>,
  token: string | undefined,
  options: ListenOptions = {},
): Promise<{ status: number; error: string; challenge: string | undefined }> =>
  new Promise((resolve, reject) => {
    const raw = open(server, token, options);
    raw.on('error', () => undefined);
    raw.on('open', () => {
      raw.terminate();
      reject(new Error('the upgrade was not refused'));
    });
    raw.on('unexpected-response', (_request, response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const { error } = z.object({ error: z.string(), message: z.string().min(1) }).parse(JSON.parse(text));
        resolve({ status: response.statusCode ?? 0, error, challenge: response.headers['www-authenticate'] });
      });
    });
  });
