import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect } from 'chai';
import { dropRest, readInSlices } from '../../../api/http/body-slices.ts';
import { type Slice, TimeSlices } from '../../../application/core/concurrency/time-slices.ts';
import { nodeTimers, useTimers } from '../../../application/core/runtime/timers.ts';
import { severalTicks, untilPasses } from '../../support/eventually.ts';

const MIB = 1024 * 1024;

describe('Large bodies', () => {
  const server = createServer();
  let respond = (_request: IncomingMessage): void => undefined;
  before(async () => {
    server.on('request', (request, response) => {
      respond(request);
      response.end('here');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const send = (bytes: number, declared = bytes) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${declared}\r\n\r\n`);
    socket.write(Buffer.alloc(bytes));
    return socket;
  };
  const slice = (): Slice => new TimeSlices().of('acme', 'body');

  it('wait for the next slice of their caller after each part', async () => {
    const waits: (() => void)[] = [];
    const waiting = slice();
    waiting.next = () => new Promise((resolve) => waits.push(resolve));
    let read = 0;
    respond = (request) =>
      readInSlices(request, waiting, (chunk) => {
        read += chunk.length;
      });
    const socket = send(4 * MIB);
    await untilPasses(() => expect(waits).to.have.length(1));
    await severalTicks();
    const first = read;
    expect(first).to.be.within(MIB / 4, MIB / 2);
    waits.shift()?.();
    await untilPasses(() => expect(waits).to.have.length(1));
    expect(read - first).to.be.within(MIB / 4, MIB / 2);
    while (read < 4 * MIB) {
      waits.shift()?.();
      await severalTicks();
    }
    socket.destroy();
  });

  it('wait for the next slice after 1024 chunks, however small they are', async () => {
    const waiting = slice();
    let waits = 0;
    waiting.next = () => {
      waits += 1;
      return new Promise(() => undefined);
    };
    let chunks = 0;
    respond = (request) =>
      readInSlices(request, waiting, () => {
        chunks += 1;
      });
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write('8\r\n12345678\r\n'.repeat(5000));
    await untilPasses(() => expect(waits).to.equal(1));
    await severalTicks();
    expect([chunks, waits]).to.deep.equal([1024, 1]);
    socket.destroy();
  });

  it('of refused requests close the connection when their chunks have fewer than 8 bytes on average', async () => {
    let chunks = 0;
    respond = (request) => {
      dropRest(request, slice);
      request.on('data', () => {
        chunks += 1;
      });
    };
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write('7\r\n1234567\r\n'.repeat(6000));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(chunks).to.be.within(4095, 4096);
  });

  it('of refused requests are read to their end, after which the connection is used again', async () => {
    let ended = 0;
    respond = (request) => {
      request.once('end', () => {
        ended += 1;
      });
      dropRest(request, slice);
    };
    const socket = send(8 * MIB);
    let answers = '';
    socket.on('data', (chunk) => {
      answers += String(chunk);
    });
    await untilPasses(() => expect(ended).to.equal(1));
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    await untilPasses(() => expect(answers.match(/200 OK/g)).to.have.length(2));
    socket.destroy();
  });

  it('that were refused midway leave the connection usable, also when few bytes had arrived', async () => {
    respond = (request) => {
      request.once('data', () => {
        request.pause();
        dropRest(request, slice);
      });
    };
    const socket = send(16, 100_000);
    let answers = '';
    socket.on('data', (chunk) => {
      answers += String(chunk);
    });
    await untilPasses(() => expect(answers.match(/200 OK/g)).to.have.length(1));
    socket.write(Buffer.alloc(100_000 - 16));
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    await untilPasses(() => expect(answers.match(/200 OK/g)).to.have.length(2));
    socket.destroy();
  });

  it('of refused requests close the connection when their rest has not arrived after ten seconds', async () => {
    let late: (() => void) | undefined;
    const restore = useTimers({
      ...nodeTimers,
      setTimeout: (run, ms) => {
        expect(ms).to.equal(10_000);
        late = run;
        return nodeTimers.setTimeout(() => undefined, 0);
      },
    });
    try {
      respond = (request) => dropRest(request, slice);
      const socket = send(MIB, 2 * MIB);
      await untilPasses(() => expect(late).to.not.equal(undefined));
      expect(socket.destroyed).to.equal(false);
      late?.();
      // Not `events.once`, which would reject: a reset of the connection emits `error` before `close`.
      await new Promise((resolve) => socket.once('close', resolve));
    } finally {
      restore();
    }
  });
});
