import { expect } from 'chai';
import { signIn, signOut, type TenantSession } from '../../../console/src/session/store.ts';
import { severalTicks } from '../../support/eventually.ts';

const SESSION: TenantSession = {
  kind: 'tenant',
  token: 't1',
  email: 'ada@acme.example',
  expiresAt: Date.now() + 3_600_000,
  tenantId: 'acme',
  userId: 'ada',
  role: 'admin',
  via: 'password',
  impersonatedBy: undefined,
};

/** Not named in the `import`, since the types of the browser are no types of the tests. */
const LIVE: string = '../../../console/src/session/live.ts';

interface Live {
  readonly liveHub: (session: TenantSession) => { listen(listener: object): () => void };
}

/** The code with which the server closes the sockets of a person whose rights have changed. */
const FORBIDDEN = 4403;

/** A socket of the browser, which the test closes. */
class Socket {
  static readonly made: Socket[] = [];
  onclose: (event: { readonly code: number }) => void = () => undefined;
  isClosed = false;
  constructor() {
    Socket.made.push(this);
  }
  close(): void {
    this.isClosed = true;
  }
}

/** Whether a timer is the wait before a restart; those of a socket are longer. */
const isRestart = (ms = 0): boolean => ms > 9000 && ms <= 10_000;

describe('The live connection of the Console', () => {
  const { setTimeout: wait, fetch, WebSocket } = globalThis;
  const answers: PromiseWithResolvers<Response>[] = [];
  const restarts: (() => void)[] = [];

  before(() => {
    Object.assign(globalThis, {
      location: { origin: 'http://console.example' },
      WebSocket: Socket,
      fetch: () => {
        const answer = Promise.withResolvers<Response>();
        answers.push(answer);
        return answer.promise;
      },
      setTimeout: (run: () => void, ms?: number) => (isRestart(ms) ? restarts.push(run) : wait(run, ms)),
    });
    signIn(SESSION);
  });
  after(() => {
    signOut();
    Object.assign(globalThis, { fetch, WebSocket, setTimeout: wait });
    Reflect.deleteProperty(globalThis, 'location');
  });

  it('has one socket when its listeners were replaced while the rights were read', async () => {
    const { liveHub }: Live = await import(LIVE);
    const hub = liveHub(SESSION);
    const leave = hub.listen({});
    await severalTicks();
    Socket.made[0]?.onclose({ code: FORBIDDEN });
    await severalTicks();
    leave();
    const leaveAgain = hub.listen({});
    await severalTicks();
    answers[0]?.resolve(Response.json({ error: 'internal_error' }, { status: 500 }));
    await severalTicks(200);
    for (const restart of restarts) restart();
    await severalTicks();
    answers[1]?.resolve(Response.json({ role: 'admin' }));
    await severalTicks(200);
    leaveAgain();
    expect(answers.length).to.be.greaterThan(0);
    expect(Socket.made.map(({ isClosed }) => isClosed)).to.deep.equal([true, true]);
  });
});
