import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { expect } from 'chai';
import { freePort, listen, openConnections, stopListening } from '../../../api/http/listening.ts';
import { untilPasses } from '../../support/eventually.ts';

const HOST = '127.0.0.1';
const CONNECTIONS = 200;

describe('Listening', () => {
  let server: Server;
  const portOf = (): number => {
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
    return address.port;
  };

  beforeEach(() => {
    server = createServer((_, response) => response.end('here'));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await stopListening(server);
  });

  it('accepts a burst of connections in far fewer ticks than there are connections', async function () {
    if (process.platform !== 'linux') this.skip();
    await listen(server, { port: 0, host: HOST }, false);
    let accepted = 0;
    server.on('connection', () => {
      accepted += 1;
    });
    const clients = Array.from({ length: CONNECTIONS }, () => connect(portOf(), HOST));
    // The server may emit a connection only after its first bytes.
    for (const client of clients) client.write('G');
    let ticks = 0;
    while (accepted < CONNECTIONS) {
      await new Promise((resolve) => setImmediate(resolve));
      // Ticks before the system has made the connections do not count.
      if (accepted > 0) ticks += 1;
    }
    for (const client of clients) client.destroy();
    expect(ticks).to.be.lessThan(CONNECTIONS / 2);
  });

  it('serves and counts every connection, whichever of the sockets accepted it', async () => {
    await listen(server, { port: 0, host: HOST }, false);
    const answers = Array.from({ length: 64 }, async () => {
      const response = await fetch(`http://${HOST}:${portOf()}/`);
      return response.text();
    });
    expect(new Set(await Promise.all(answers))).to.deep.equal(new Set(['here']));
    const clients = Array.from({ length: 64 }, () => connect(portOf(), HOST));
    await Promise.all(clients.map((client) => once(client, 'connect')));
    await untilPasses(async () => expect(await openConnections(server)).to.be.at.least(64));
    for (const client of clients) client.destroy();
    await untilPasses(async () => {
      server.closeIdleConnections();
      expect(await openConnections(server)).to.equal(0);
    });
  });

  it('accepts no more connections once it stops, and has stopped when the last connection ends', async () => {
    await listen(server, { port: 0, host: HOST }, false);
    const port = portOf();
    let served = 0;
    server.on('connection', () => {
      served += 1;
    });
    const clients = Array.from({ length: 32 }, () => connect(port, HOST));
    // A server that stops closes connections that have sent nothing immediately.
    for (const client of clients) client.write('G');
    await untilPasses(() => expect(served).to.equal(32));
    let hasStopped = false;
    const stopped = stopListening(server).then(() => {
      hasStopped = true;
    });
    const [refused] = await once(connect(port, HOST), 'error');
    expect(refused).to.have.property('code', 'ECONNREFUSED');
    expect(hasStopped).to.equal(false);
    for (const client of clients) client.destroy();
    await stopped;
  });

  it('refuses a port that another server uses', async () => {
    await listen(server, { port: 0, host: HOST }, false);
    const error: unknown = await freePort({ port: portOf(), host: HOST }).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('code', 'EADDRINUSE');
    const second = createServer();
    const refusal: unknown = await listen(second, { port: portOf(), host: HOST }, false).catch(
      (thrown: unknown) => thrown,
    );
    expect(refusal).to.have.property('code', 'EADDRINUSE');
  });
});
