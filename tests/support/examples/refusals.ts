import { errorAnswer } from '../../../api/http/errors.ts';
import type { Call } from '../../simulation/network.ts';
import type { SimulatedNode } from '../../simulation/node.ts';
import type { World } from '../../simulation/world.ts';

const V1 = '/api/v1/tenant';
/** More bytes than a body, or all headers together, may have. */
const TOO_LARGE = { body: 1_100_000, headers: 20_000 };
const UNKNOWN = '01a20e0d-f99c-716e-b16e-2daa24aa5e59';
/** A position that the log has not reached. */
const BEYOND = '00000000ffffffff';

/** `eve` is an admin of a tenant without the ledger. */
export type Tokens = Readonly<Record<'ada' | 'ben' | 'eve', string>>;

const callsOf = ({ ada, ben, eve }: Tokens): readonly (readonly [number, Call])[] => {
  const by = (token: string, more = {}) => ({ headers: { authorization: `Bearer ${token}`, ...more } });
  const lines = [
    { account_code: '1200', debit: 12_500 },
    { account_code: '4000', credit: 12_000 },
  ];
  const account = { code: '1300', name: 'Stock', type: 'asset' };
  const present = { code: '1200', type: 'Asset' };
  const tool = { name: 'tool', label: 'Tool', fields: [] };
  return [
    [400, { method: 'POST', path: `${V1}/gl/accounts`, body: account, ...by(ada) }],
    [401, { method: 'GET', path: `${V1}/me` }],
    [402, { method: 'GET', path: `${V1}/gl/accounts`, ...by(eve) }],
    [403, { method: 'POST', path: `${V1}/entities`, body: tool, ...by(ben) }],
    [404, { method: 'GET', path: `${V1}/jobs/${UNKNOWN}`, ...by(ada) }],
    [409, { method: 'POST', path: `${V1}/gl/accounts`, body: { ...account, ...present }, ...by(ada) }],
    [413, { method: 'POST', path: `${V1}/entities`, body: 'x'.repeat(TOO_LARGE.body), ...by(ada) }],
    [
      415,
      { method: 'POST', path: `${V1}/entities`, body: tool, ...by(ada, { 'content-type': 'text/plain' }) },
    ],
    [422, { method: 'POST', path: `${V1}/gl/entries`, body: { date: '2026-03-02', lines }, ...by(ada) }],
    [431, { method: 'GET', path: `${V1}/me`, headers: { 'x-large': 'x'.repeat(TOO_LARGE.headers) } }],
    [503, { method: 'GET', path: `${V1}/users`, ...by(ada, { 'x-min-position': BEYOND }) }],
  ];
};

/**
 * One refusal of each status, as it was answered; the 500 is that of an unexpected error.
 * @param limited a node with a low limit of requests
 */
export const recordRefusals = async (
  world: World,
  { node, limited }: { readonly node: SimulatedNode; readonly limited: SimulatedNode },
  tokens: Tokens,
): Promise<Record<string, unknown>> => {
  const errors: Record<string, unknown> = {};
  const refused = async (status: number, at: SimulatedNode, call: Call): Promise<void> => {
    await world.time.pause(1_000);
    const reply = await at.call(call);
    if (reply.status !== status) throw new Error(`${status}: ${reply.status} ${JSON.stringify(reply.body)}`);
    errors[status] = reply.body;
  };
  for (const [status, call] of callsOf(tokens)) await refused(status, node, call);
  const me = { method: 'GET', path: `${V1}/me`, headers: { authorization: `Bearer ${tokens.ben}` } };
  await limited.call(me);
  await refused(429, limited, me);
  errors[500] = { ...errorAnswer(new Error('an unexpected error')).body, request_id: UNKNOWN };
  return errors;
};
