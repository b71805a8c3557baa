import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, OF_CHILDREN } from '../support/server.ts';
import { endWorld, say, sharedWorld, talk, token } from '../support/world.ts';

const client =
  /<!-- socket client -->\n```js\n([\s\S]*?)```/.exec(readFileSync('docs/messaging.md', 'utf8'))?.[1] ?? '';

/** A connection to the server that can be cut. */
const cuttable = async (port: number) => {
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: () => proxy.close(),
  };
};

describe('The WebSocket client of docs/messaging.md', () => {
  after(endWorld);

  it('prints each message and notification once, across a cut', async () => {
    const world = await sharedWorld();
    const tenant = await world.tenant();
    const [ann, bob] = [await tenant.person('Ann'), await tenant.person('Bob')];
    const conversation = await talk(ann, bob);
    const wire = await cuttable(Number(new URL(world.server.base).port));
    const folder = mkdtempSync(join(tmpdir(), 'socket-client-'));
    writeFileSync(join(folder, 'client.js'), client);
    const child = spawn(
      process.execPath,
      [join(folder, 'client.js'), `ws://127.0.0.1:${wire.port}`, bob.token],
      { env: OF_CHILDREN, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      const lines: string[] = [];
      child.stdout.on('data', (data: Buffer) => lines.push(...data.toString().trim().split('\n')));
      // Messages sent before the socket is open are not repeated on it.
      const opened = await eventually('the first line', async () => {
        await say(ann, conversation, 'are you there?');
        return lines.length > 0 && lines.length;
      });
      expect(opened).to.be.greaterThan(0);
      await say(ann, conversation, `look, ${token(bob)}`);
      await eventually('the mention', () => lines.includes('notification: look, @Bob'));
      wire.cut();
      await say(ann, conversation, 'missed');
      await say(ann, conversation, 'missed too');
      await eventually('what was missed', () => lines.includes('missed too'), 15_000);
      expect(lines.filter((line) => line.startsWith('missed'))).to.deep.equal(['missed', 'missed too']);
      expect(lines.filter((line) => line === 'notification: look, @Bob')).to.have.length(1);
    } finally {
      child.kill();
      wire.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }).timeout(40_000);
});
