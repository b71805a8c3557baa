import { connect } from 'node:net';
import { expect } from 'chai';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { BULK } from '../bulk/support.ts';
import { define } from '../entities/support.ts';
import { meanwhile } from './support.ts';

describe('A request body with millions of elements', () => {
  let world: World;
  let tenant: TestTenant;
  let entity: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    entity = await define(tenant.admin, { key: 'n', type: 'integer' });
  });
  after(endWorld);

  const preview = (selection: string) =>
    tenant.admin.api.post(`${BULK}/preview`, undefined, {
      raw: `{"entity_name":"${entity}","operation":"delete","op_params":{"kind":"delete"},"selection":{"kind":"ids","ids":${selection}}}`,
      headers: { 'content-type': 'application/json' },
    });

  for (const [kind, element] of [
    ['numbers', '1'],
    ['texts', '""'],
    ['lists', '[]'],
  ] as const) {
    it(`is refused at once, without memory for its elements: ${kind}`, async () => {
      const count = Math.trunc(8_000_000 / (element.length + 1));
      const selection = `[${`${element},`.repeat(count - 1)}${element}]`;
      const { result, blockedBy, grownMiB } = await meanwhile(world.server, () => preview(selection));
      expect(result.status).to.equal(400);
      expect(blockedBy).to.deep.equal([]);
      expect(grownMiB).to.be.below(200);
    });
  }
});

describe('A request body in small chunks', () => {
  let world: World;
  before(async () => {
    world = await sharedWorld();
  });
  after(endWorld);

  const login = (chunk: string, count: number) =>
    meanwhile(world.server, async () => {
      const socket = connect(world.server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      let answer = '';
      socket.setEncoding('utf8').on('data', (text: string) => {
        answer += text;
      });
      socket.write('POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
      socket.write('Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
      const framed = `${chunk.length.toString(16)}\r\n${chunk}\r\n`;
      socket.write(framed.repeat(count));
      socket.write('2\r\n{}\r\n0\r\n\r\n');
      await new Promise((resolve) => socket.once('close', resolve));
      return answer;
    });

  it('takes little memory, and holds no tick for long', async () => {
    const { result, blockedBy, grownMiB } = await login(' '.repeat(16), 60_000);
    expect(result).to.match(/^HTTP\/1\.1 400 .*"validation_failed"/s);
    expect(blockedBy).to.deep.equal([]);
    expect(grownMiB).to.be.below(100);
  });

  it('of one byte is refused from the 4096th on', async () => {
    const { result } = await login(' ', 5000);
    expect(result).to.match(/^HTTP\/1\.1 400 .*"malformed_json"/s);
  });

  it('of one byte ends its connection when it goes on after the refusal', async () => {
    const { blockedBy, grownMiB } = await login(' ', 1_000_000);
    expect(blockedBy).to.deep.equal([]);
    expect(grownMiB).to.be.below(100);
  });
});
