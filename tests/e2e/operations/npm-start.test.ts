import { type ChildProcess, spawn } from 'node:child_process';
import { expect } from 'chai';
import { freePort } from '../../support/free-port.ts';
import { eventually, KEYS, newDataFolder, OF_CHILDREN } from '../../support/server.ts';
import { endWorld } from '../../support/world.ts';

describe('npm start', () => {
  let npm: ChildProcess | undefined;
  after(async () => {
    npm?.kill('SIGKILL');
    await endWorld();
  });

  it('stops the server when npm gets SIGTERM, and LOG_LEVEL=warn logs no request', async () => {
    const port = await freePort();
    const env = {
      ...OF_CHILDREN,
      ...KEYS,
      DATA_DIR: await newDataFolder(),
      PORT: String(port),
      DEMO: '0',
      LOG_LEVEL: 'warn',
      EMBEDDING_MODEL: 'off',
    };
    npm = spawn('npm', ['start', '--no-update-notifier'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    }
    const closed = new Promise<void>((resolve) => npm?.once('close', () => resolve()));
    const isServed = () =>
      fetch(`http://127.0.0.1:${port}/health/live`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await eventually('the server', isServed, 60_000);
    npm.kill('SIGTERM');
    // The pipes close once neither npm nor the server has them open.
    await closed;
    expect(await isServed()).to.equal(false);
    expect(output).not.to.contain('"msg"');
  });
});
