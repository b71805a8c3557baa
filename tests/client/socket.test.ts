import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { WebSocketServer } from 'ws';
import { createClient, type SocketState } from '../../client/src/index.ts';
import { severalTicks } from '../support/eventually.ts';
import { eventually } from '../support/server.ts';
import { tenantToken } from '../support/tokens.ts';
import { BASE, endWorld, type Member, sharedWorld, type TestTenant, type World } from '../support/world.ts';
import { id as idShape } from './shapes.ts';

const MESSAGES = '/api/v1/tenant/messaging/conversations/{id}/messages';

describe('The socket of the client', () => {
  let world: World;
  let tenant: TestTenant;
  let ben: Member;
  let url: string;
  let conversation: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ben = await tenant.person('Ben');
    url = world.server.base;
    const made = await tenant.admin.api.post(BASE, { participant_user_ids: [ben.id] });
    conversation = made.as(idShape, 201).id;
  });
  after(endWorld);

  const clientOf = (who: Member) => createClient({ url, token: who.token });
  const params = () => ({ path: { id: conversation } });

  it('gets a new token when one has expired, and resumes', async () => {
    const soon = Math.floor(Date.now() / 1000) + 2;
    const tokens = [tenantToken(ben, { exp: soon })];
    const token = (): string => tokens.shift() ?? ben.token;
    const seen: string[] = [];
    const states: SocketState[] = [];
    const socket = createClient({ url, token }).socket({
      onEnvelope: (each) => each.kind === 'message' && seen.push(each.message.body),
      onState: (state) => states.push(state),
      retry: { first: 1 },
    });
    await eventually('a second connection', () => states.filter(({ kind }) => kind === 'ready').length === 2);
    await clientOf(tenant.admin).post(MESSAGES, { params: params(), body: { body: 'still there?' } });
    await eventually('the message', () => seen.includes('still there?'));
    expect(states.filter(({ kind }) => kind === 'ready')).to.deep.equal([
      { kind: 'ready', resumed: false },
      { kind: 'ready', resumed: true },
    ]);
    const { position } = socket;
    socket.close();
    expect(states.at(-1)).to.deep.equal({ kind: 'closed' });
    // Another socket goes on where this one ended.
    await clientOf(tenant.admin).post(MESSAGES, { params: params(), body: { body: 'while away' } });
    const later: string[] = [];
    const next = clientOf(ben).socket({
      after: position,
      onEnvelope: (each) => each.kind === 'message' && later.push(each.message.body),
    });
    await eventually('the message', () => later.length > 0);
    next.close();
    expect(later).to.deep.equal(['while away']);
  }).timeout(30_000);

  it('connects without a position when the server refuses the given one', async () => {
    const states: SocketState[] = [];
    const socket = createClient({ url, token: ben.token }).socket({
      after: 'no position',
      onEnvelope: () => undefined,
      onState: (state) => states.push(state),
      retry: { first: 1 },
    });
    const ready = await eventually('a connection', () => states.find(({ kind }) => kind === 'ready'));
    expect(ready).to.deep.equal({ kind: 'ready', resumed: false });
    socket.close();
  });

  it('ends with the reason when the credential is refused for good', async () => {
    const states: SocketState[] = [];
    createClient({ url, token: 'nobody' }).socket({
      onEnvelope: () => undefined,
      onState: (state) => states.push(state),
    });
    const last = await eventually('the end', () => states.find(({ kind }) => kind === 'closed'));
    expect(last).to.have.property('error').that.includes({ status: 401, code: 'invalid_credential' });
  });

  it('reports its first state when the caller has the socket', async () => {
    const seen: (string | undefined)[] = [];
    const socket = clientOf(ben).socket({
      onEnvelope: () => undefined,
      onState: ({ kind }) => seen.push(`${kind} ${socket.position === undefined}`),
    });
    await eventually('a connection', () => seen.length > 1);
    socket.close();
    expect(seen).to.deep.equal(['connecting true', 'ready false', 'closed false']);
    seen.length = 0;
    clientOf(ben)
      .socket({ onEnvelope: () => undefined, onState: ({ kind }) => seen.push(kind) })
      .close();
    await severalTicks();
    expect(seen).to.deep.equal(['closed']);
  });

  it('waits for a token that can be sent, and ends when there will be none', async () => {
    const tokens = [''];
    const states: SocketState[] = [];
    const token = (): string => tokens.shift() ?? ben.token;
    const socket = createClient({ url, token }).socket({
      onEnvelope: () => undefined,
      onState: (state) => states.push(state),
      retry: { first: 1 },
    });
    await eventually('a connection', () => states.at(-1)?.kind === 'ready');
    socket.close();
    expect(states.map(({ kind }) => kind).slice(0, 3)).to.deep.equal(['connecting', 'waiting', 'connecting']);
    states.length = 0;
    createClient({ url, token: '' }).socket({
      onEnvelope: () => undefined,
      onState: (state) => states.push(state),
    });
    const last = await eventually('the end', () => states.find(({ kind }) => kind === 'closed'));
    expect(last).to.have.property('error').that.includes({ status: 401 });
  });

  it('tries again when a failed handshake is not explained in time', async () => {
    const { timeout } = AbortSignal;
    const limits: number[] = [];
    AbortSignal.timeout = (ms) => {
      limits.push(ms);
      return timeout.call(AbortSignal, 1);
    };
    try {
      const states: SocketState[] = [];
      const silent = ({ signal }: Request): Promise<Response> =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      const unreachable = createClient({ url: 'http://127.0.0.1:1', token: 'any', fetch: silent });
      const socket = unreachable.socket({
        onEnvelope: () => undefined,
        onState: (state) => states.push(state),
        retry: { first: 1 },
      });
      await eventually('a second try', () => states.filter(({ kind }) => kind === 'connecting').length > 1);
      socket.close();
      expect(limits[0]).to.equal(15_000);
    } finally {
      AbortSignal.timeout = timeout;
    }
  });

  const HELLO = {
    kind: 'message',
    event: 'created',
    position: 'q1',
    conversation_id: 'c',
    message: { body: 'hello' },
  };

  /** A server that sends one list of frames to each connection; by default it closes all but the last one. */
  const startServerOf = async (frames: readonly (readonly object[])[], closes = true) => {
    const asked: (string | null)[] = [];
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'bearer' });
    server.on('connection', (socket, request) => {
      const own = frames[asked.length] ?? [];
      asked.push(new URL(request.url ?? '', 'http://server').searchParams.get('after'));
      for (const frame of own) socket.send(JSON.stringify(frame));
      if (closes && asked.length < frames.length) socket.close(1012);
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { asked, client: createClient({ url: `http://127.0.0.1:${port}`, token: 'any' }), server };
  };

  it('reports a resync, and continues after it', async () => {
    const { asked, client, server } = await startServerOf([
      [{ kind: 'system', event: 'ready', position: 'p1' }],
      [
        { kind: 'system', event: 'ready', position: 'p1' },
        { kind: 'system', event: 'resync', position: 'p9' },
      ],
      [{ kind: 'system', event: 'ready', position: 'p9' }, HELLO],
    ]);
    const handed: string[] = [];
    const socket = client.socket({
      onEnvelope: (each) => each.kind === 'message' && handed.push(each.message.body),
      onResync: (position) => handed.push(`resync ${position}`),
      retry: { first: 1 },
    });
    await eventually('the envelope', () => handed.includes('hello'));
    socket.close();
    server.close();
    expect(handed).to.deep.equal(['resync p9', 'hello']);
    expect(asked).to.deep.equal([null, 'p1', 'p9']);
    expect(socket.position).to.equal('q1');
  });

  it('sends empty frames, so that it notices a connection that the server no longer has', async () => {
    const ready = [{ kind: 'system', event: 'ready', position: 'p1' }];
    const { asked, client, server } = await startServerOf([ready, ready], false);
    server.on('connection', (socket) => socket.on('message', () => socket.terminate()));
    const { setInterval } = globalThis;
    const intervals: (number | undefined)[] = [];
    globalThis.setInterval = ((run: () => void, ms?: number) => {
      intervals.push(ms);
      return setInterval(run, 5);
    }) as typeof setInterval;
    try {
      const socket = client.socket({ onEnvelope: () => undefined, retry: { first: 1 } });
      await eventually('a second connection', () => asked.length > 1);
      socket.close();
    } finally {
      globalThis.setInterval = setInterval;
      server.close();
    }
    expect(asked).to.deep.equal([null, 'p1']);
    expect(intervals[0]).to.equal(30_000);
  });

  it('ignores frames of unknown kinds', async () => {
    const { client, server } = await startServerOf([
      [
        { kind: 'system', event: 'ready', position: 'p1' },
        { kind: 'presence', event: 'changed', position: 'p2', user_id: 'ann' },
        { kind: 'system', event: 'notice', position: 'p3' },
        HELLO,
      ],
    ]);
    const handed: string[] = [];
    const socket = client.socket({ onEnvelope: ({ kind }) => handed.push(kind) });
    await eventually('the message', () => handed.includes('message'));
    socket.close();
    server.close();
    expect(handed).to.deep.equal(['message']);
  });
});
