import { expect } from 'chai';
import { createClient, type Envelope, type SocketState } from '../../client/src/index.ts';
import { eventually } from '../support/server.ts';
import { BASE, endWorld, type Member, sharedWorld, type TestTenant, type World } from '../support/world.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';

const CUTS = 400;
const MESSAGES = 100;

describe('The socket of the client', () => {
  let world: World;
  let tenant: TestTenant;
  let ben: Member;
  let conversation: string;
  let proxy: CuttingProxy | undefined;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ben = await tenant.person('Ben');
    const made = await tenant.admin.api.post(BASE, { participant_user_ids: [ben.id] });
    conversation = String(new Map(Object.entries(made.json as object)).get('id'));
  });
  afterEach(() => proxy?.close());
  after(endWorld);

  it('hands over each envelope once, in order, across 400 random cuts', async () => {
    proxy = await startCuttingProxy(world.server.port, { cuts: CUTS, bytes: 1500, ms: 12 });
    const { url } = proxy;
    const client = createClient({ url: world.server.base, token: tenant.admin.token });
    const seen: string[] = [];
    const resyncs: string[] = [];
    const states: SocketState['kind'][] = [];
    const bodyOf = (envelope: Envelope): string =>
      envelope.kind === 'message' ? envelope.message.body : `about ${envelope.notification.snippet}`;
    const socket = createClient({ url, token: ben.token }).socket({
      onEnvelope: (envelope) => seen.push(bodyOf(envelope)),
      onResync: (position) => resyncs.push(position),
      onState: ({ kind }) => states.push(kind),
      retry: { first: 1, longest: 4 },
    });
    try {
      await eventually('a connection', () => states.includes('ready'));
      const sent: string[] = [];
      const path = '/api/v1/tenant/messaging/conversations/{id}/messages';
      for (let nth = 0; nth < MESSAGES; nth += 1) {
        const body = `message ${nth}`;
        await client.post(path, { params: { path: { id: conversation } }, body: { body } });
        sent.push(body);
        // Spreads the messages over the cuts.
        await eventually('cuts', () => (proxy?.cuts ?? 0) >= Math.floor((nth * CUTS) / MESSAGES), 120_000);
      }
      await eventually('all cuts', () => proxy?.cuts === CUTS, 120_000);
      await eventually('all messages', () => seen.length >= MESSAGES, 120_000);
      const last = 'the last one';
      await client.post(path, { params: { path: { id: conversation } }, body: { body: last } });
      await eventually('the last message', () => seen.includes(last));
      expect(seen).to.deep.equal([...sent, last]);
      expect(resyncs).to.deep.equal([]);
      expect(proxy.cuts).to.equal(CUTS);
      const { received } = proxy;
      expect(received.filter((count) => count > 0).length, 'cuts of an answer').to.be.greaterThan(CUTS / 4);
      expect(received.filter((count) => count > 400).length, 'cuts after frames').to.be.greaterThan(
        CUTS / 20,
      );
    } finally {
      socket.close();
    }
  }).timeout(600_000);
});
