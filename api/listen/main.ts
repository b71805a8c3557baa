import { parseArgs } from 'node:util';
import { ApiError, createClient } from '../../client/src/index.ts';
import { describeDelivery, startListener } from './listener.ts';

/**
 * `npm run listen`: receives the deliveries of a new webhook subscription on this machine and shows them; deletes the
 * subscription on SIGINT or SIGTERM.
 */

const USAGE = `npm run listen -- [options]

  --forward <url>   pass each delivery on, byte for byte, and answer what is answered there
  --events <list>   comma-separated; default: *
  --api <url>       default: http://127.0.0.1:3000
  --port <port>     of the listener; default: a free one
  --help

Environment: TOKEN, or EMAIL and PASSWORD (and TENANT) of a person of a tenant with a paid plan.

The server must allow calls to this machine:
  WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 WEBHOOK_ALLOW_HTTP=1 npm start`;

const OPTIONS = {
  forward: { type: 'string' },
  events: { type: 'string', default: '*' },
  api: { type: 'string', default: 'http://127.0.0.1:3000' },
  port: { type: 'string', default: '0' },
  help: { type: 'boolean', default: false },
} as const;
const MOST_PORT = 65_535;

const isHttp = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? '');

/** @throws {Error} for an unknown option, and for an option with an invalid value */
const optionsOf = () => {
  const { values } = parseArgs({ options: OPTIONS });
  for (const name of ['forward', 'api'] as const) {
    const value = values[name];
    if (value !== undefined && !isHttp(value))
      throw new Error(`--${name} must be a URL such as http://127.0.0.1:4000`);
  }
  if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > MOST_PORT)
    throw new Error('--port must be a port');
  return values;
};
type Values = ReturnType<typeof optionsOf>;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const tokenOf = async (url: string): Promise<string> => {
  const { TOKEN, EMAIL: email, PASSWORD: password, TENANT: tenant } = process.env;
  if (TOKEN !== undefined) return TOKEN;
  if (email === undefined || password === undefined) throw new Error('Set TOKEN, or EMAIL and PASSWORD.');
  const body = { email, password, ...(tenant === undefined ? {} : { tenant }) };
  return (await createClient({ url }).post('/auth/login', { body })).token;
};

const listen = async (values: Values): Promise<void> => {
  const client = createClient({ url: values.api, token: await tokenOf(values.api) });
  const listener = await startListener({
    port: Number(values.port),
    forward: values.forward,
    onDelivery: (delivery) => say(describeDelivery(delivery)),
  });
  const ended = new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  });
  try {
    const hook = await client.post('/api/v1/tenant/webhooks', {
      body: {
        url: listener.url,
        // The server checks the names.
        events: values.events.split(',') as '*'[],
        description: 'npm run listen',
      },
    });
    if (hook.secret === undefined) throw new Error('The answer has no secret.');
    listener.verifyBy(hook.secret);
    say(`subscription ${hook.id}, secret ${hook.secret}`);
    say(
      `listening at ${listener.url}${values.forward === undefined ? '' : `, forwarding to ${values.forward}`}`,
    );
    try {
      await ended;
    } finally {
      await client.delete('/api/v1/tenant/webhooks/{id}', { params: { path: { id: hook.id } } });
      say('subscription deleted');
    }
  } finally {
    await listener.close();
  }
};

const explain = (error: unknown): string => {
  if (error instanceof ApiError && error.code === 'url_refused') {
    return `The server refuses to call this machine. Start it with\n  WEBHOOK_ALLOWED_NETWORKS=127.0.0.0/8 WEBHOOK_ALLOW_HTTP=1 npm start`;
  }
  if (!(error instanceof Error)) return String(error);
  // `fetch` wraps the error that tells the reason.
  return error.cause instanceof Error
    ? `The server cannot be reached: ${error.cause.message}`
    : error.message;
};

const end = (text: string, code: number): void => {
  process.stderr.write(`${text}\n`);
  process.exitCode = code;
};

const given = (() => {
  try {
    return optionsOf();
  } catch (error) {
    end(`${explain(error)}\n\n${USAGE}`, 2);
    return undefined;
  }
})();
if (given?.help === true) say(USAGE);
else if (given !== undefined) await listen(given).catch((error: unknown) => end(explain(error), 1));
