import WebSocket from 'ws';
import { z } from 'zod';
import type { Hosts } from '../../simulation/hosts.ts';
import { connect } from '../../simulation/network.ts';
import type { SimulatedNode } from '../../simulation/node.ts';
import type { World } from '../../simulation/world.ts';
import type { Known } from './walk.ts';

/** Milliseconds of virtual time within which a notification arrives. */
const SETTLED_MS = 5_000;
/** A position that the log will not reach, as after a restore of an older backup. */
const BEYOND = '00000000ffffffff';

const named = z.object({ kind: z.string().optional(), event: z.string() });

/** A received text, its parsed value, and its name in the AsyncAPI document. */
const take = (text: string) => {
  const value: unknown = JSON.parse(text);
  const { kind, event } = named.parse(value);
  return { name: kind === undefined || kind === 'system' ? event : kind, text, value };
};
type Taken = ReturnType<typeof take>;

/** The envelopes of one connection, until it is ended. */
const listen = (node: SimulatedNode, token: string, query: string) => {
  const { server } = node;
  if (server === undefined) throw new Error(`${node.name} is down`);
  const seen: Taken[] = [];
  const socket = new WebSocket(`ws://simulation/api/v1/ws${query}`, {
    createConnection: () => connect(server),
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
  socket.on('message', (data) => seen.push(take(String(data))));
  return { seen, end: () => socket.terminate() };
};

/** One envelope of each kind: Ada mentions Ben, who listens. */
export const recordEnvelopes = async (
  world: World,
  node: SimulatedNode,
  tokens: { readonly ada: string; readonly ben: string },
  known: Known,
): Promise<Record<string, unknown>> => {
  const live = world.time.as(node.owner, () => listen(node, tokens.ben, ''));
  const late = world.time.as(node.owner, () => listen(node, tokens.ben, `?after=${BEYOND}`));
  await world.time.pause(SETTLED_MS);
  await node.call({
    method: 'POST',
    path: `/api/v1/tenant/messaging/conversations/${known('startConversation', 'id')}/messages`,
    body: { body: 'The seal has come, @[Ben](user:ben).' },
    headers: { authorization: `Bearer ${tokens.ada}` },
  });
  await world.time.pause(SETTLED_MS);
  live.end();
  late.end();
  const resync = late.seen.filter(({ name }) => name === 'resync');
  return Object.fromEntries([...live.seen, ...resync].map(({ name, value }) => [name, value]));
};

/** The body of one delivery of each event, about a repair if there is such a delivery. */
export const recordedDeliveries = ({ received }: Hosts): Record<string, unknown> => {
  const byEvent = Map.groupBy(
    received.map(({ body }) => take(body)),
    ({ name }) => name,
  );
  return Object.fromEntries(
    [...byEvent].map(([event, of]) => [
      event,
      (of.find(({ text }) => text.includes('"repair"')) ?? of[0])?.value,
    ]),
  );
};
