import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { expect } from 'chai';
import { lastAnswer } from '../../../api/http/last-answer.ts';
import { untilPasses } from '../../support/eventually.ts';
import { withFakeTimers } from '../../support/fake-timers.ts';

describe('The last answer of a connection', () => {
  const answered = async (allowHalfOpen: boolean) => {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, 'connection');
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen });
    const [socket]: Socket[] = await accepted;
    if (socket === undefined) throw new Error('nothing was accepted');
    server.close();
    lastAnswer(socket, 400, { 'X-Request-Id': 'r-1' }, '{"error":"validation_failed"}');
    return { client, socket, answer: await text(client) };
  };

  it('is a whole HTTP message with its headers', () =>
    withFakeTimers(async () => {
      const { answer, socket } = await answered(false);
      const [head, body] = answer.split('\r\n\r\n');
      expect(head?.split('\r\n')).to.deep.equal([
        'HTTP/1.1 400 Bad Request',
        'Content-Type: application/json; charset=utf-8',
        'X-Request-Id: r-1',
        'Content-Length: 29',
        'Connection: close',
      ]);
      expect(body).to.equal('{"error":"validation_failed"}');
      await untilPasses(() => expect(socket.destroyed).to.equal(true));
    }));

  it('leaves a client the time to read earlier answers', () =>
    withFakeTimers(async (time) => {
      const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const accepted = once(server, 'connection');
      const client = connect(port, '127.0.0.1');
      const [socket]: Socket[] = await accepted;
      server.close();
      const earlier = Buffer.alloc(16 * 1024 * 1024);
      socket?.write(earlier);
      if (socket !== undefined) lastAnswer(socket, 400, {}, '{}');
      await time.pass(60_000);
      const received = await buffer(client);
      expect(received.length).to.be.greaterThan(earlier.length);
      expect(received.subarray(-2).toString()).to.equal('{}');
    }));

  it('ends the connection of a client that does not close it', () =>
    withFakeTimers(async (time) => {
      const { client, socket } = await answered(true);
      await time.pass(4900);
      expect(socket.destroyed).to.equal(false);
      await time.pass(200);
      expect(socket.destroyed).to.equal(true);
      client.destroy();
    }));
});
