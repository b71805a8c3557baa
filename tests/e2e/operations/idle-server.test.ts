import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { newDataFolder, OF_CHILDREN, SOURCE } from '../../support/server.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';

const HOME = join(import.meta.dirname, '../../..');

/** Packages that a server needs for some requests or stores only. */
const LATER = [
  '@energetic-ai/embeddings',
  '@eventstore/db-client',
  '@opentelemetry/api',
  'mongodb',
  'oauth4webapi',
  'openid-client',
  'swagger-ui-dist',
  'undici',
];

/** Prints the files that the main thread of a server loads. */
const LOADED = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  for (const file of process.argv.slice(1)) await import(file);
  process.stdout.write(JSON.stringify(loaded), () => process.exit());
`;

describe('An idle server', () => {
  let world: World;
  before(async () => {
    world = await startWorld({ main: SOURCE });
    await world.ready();
  });
  after(endWorld);

  it('loads no packages that only some requests need', async () => {
    const files = [join(HOME, 'api/platform.ts'), SOURCE];
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', LOADED, ...files], {
      env: { ...OF_CHILDREN, DATA_DIR: await newDataFolder(), PORT: '0', DEMO: '0' },
      encoding: 'utf8',
      maxBuffer: 4 * 1024 * 1024,
    });
    const loaded = JSON.parse(printed) as unknown as readonly string[];
    expect(
      loaded.filter((file) => LATER.some((name) => file.includes(`/node_modules/${name}/`))),
    ).to.deep.equal([]);
    expect(loaded.length).to.be.greaterThan(500).and.lessThan(1200);
  });

  it('reports the memory and processor time of each thread', async () => {
    const { text } = await world.anybody.get('/metrics');
    for (const thread of ['main', 'projections']) {
      for (const name of ['workflow_thread_heap_bytes', 'workflow_thread_cpu_seconds']) {
        const told = new RegExp(`^${name}\\{thread="${thread}"\\} (\\S+)$`, 'm').exec(text)?.[1];
        expect(Number(told), `${name} of ${thread}`).to.be.greaterThan(0);
      }
    }
    expect(text).to.match(/^process_resident_memory_bytes \d+/m);
  });

  it('bounds the young generation of the projections’ thread', async () => {
    const { text } = await world.anybody.get('/metrics');
    const told = /^workflow_thread_heap_bytes\{thread="projections"\} (\S+)$/m.exec(text)?.[1];
    // 25 to 30 MiB measured, 53 to 58 without a bound.
    expect(Number(told) / 1024 / 1024)
      .to.be.greaterThan(5)
      .and.lessThan(45);
  });

  // 177 MiB measured, 207 without the cache of compiled modules; the reads of metrics in the tests above add some.
  it('holds less than 280 MiB', function () {
    if (process.platform !== 'linux') return this.skip();
    const status = readFileSync(`/proc/${world.server.pid}/status`, 'utf8');
    const mib = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
    expect(mib).to.be.greaterThan(50).and.lessThan(280);
  });
});
