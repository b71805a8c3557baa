import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { listen, openConnections, stopListening } from '../../../api/http/listening.ts';
import { busyFor } from '../../support/busy.ts';
import { untilPasses } from '../../support/eventually.ts';

const HOST = '127.0.0.1';
/** Another address of this machine, which stands for another machine. */
const ELSEWHERE = '127.0.0.2';
const CONNECTIONS = 200;
const REQUEST = `GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`;

describe('New connections', () => {
  let server: Server;
  let clients: Socket[];
  let served: (string | undefined)[];

  before(function () {
    // Other systems listen with one socket per process, and have one loopback address.
    if (process.platform !== 'linux') this.skip();
  });
  beforeEach(async () => {
    clients = [];
    served = [];
    server = createServer((request, response) => {
      busyFor(1);
      served.push(request.socket.remoteAddress);
      response.end();
    });
    await listen(server, { port: 0, host: HOST }, false);
  });
  afterEach(async () => {
    for (const client of clients) client.destroy();
    server.closeAllConnections();
    await stopListening(server);
  });

  const open = async (localAddress: string): Promise<Socket> => {
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
    const client = connect({ port: address.port, host: HOST, localAddress });
    clients.push(client);
    await once(client, 'connect');
    return client;
  };
  /** Opens connections from one address, and waits until the server has accepted them. */
  const burst = async (): Promise<Socket[]> => {
    const opened = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(ELSEWHERE)));
    await untilPasses(async () => expect(await openConnections(server)).to.equal(CONNECTIONS));
    return opened;
  };
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('begin few requests in one tick, however many connections send a request at the same time', async () => {
    for (const client of await burst()) client.write(REQUEST);
    let most = 0;
    let before = 0;
    while (served.length < CONNECTIONS) {
      await tick();
      most = Math.max(most, served.length - before);
      before = served.length;
    }
    expect(most).to.be.below(CONNECTIONS / 4);
  });

  it('are served round robin by address, so that a burst does not delay other addresses', async () => {
    const loud = await burst();
    const quiet = await open(HOST);
    for (const client of loud) client.write(REQUEST);
    quiet.write(REQUEST);
    await once(quiet, 'data');
    expect(served.indexOf(HOST)).to.be.below(CONNECTIONS / 2);
  });

  it('are closed when they send nothing', async () => {
    server.headersTimeout = 50;
    const silent = await Promise.all(Array.from({ length: 64 }, () => open(HOST)));
    for (const client of silent) client.resume();
    // One of the 16 sockets is the HTTP server's own, whose connections Node checks only every 30 s.
    await untilPasses(() => expect(silent.filter((client) => client.destroyed).length).to.be.above(32));
  });
});
