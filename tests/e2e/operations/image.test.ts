import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { variables } from '../../../infrastructure/config/listing.ts';
import { freePort } from '../../support/free-port.ts';
import { type Image, runImageSteps } from '../../support/image-steps.ts';
import { packaged } from '../../support/packaged.ts';
import { eventually, KEYS } from '../../support/server.ts';

/** A user without rights, for tests that run as root: the owner of the files must be another user. */
const NOBODY = 65_534;
/** A setting of the system's C library, not of the product (decision 44). */
const ARENAS = 'MALLOC_ARENA_MAX';
const other = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

describe('The image', () => {
  let folder: string;
  let image: Image;
  let node: string;
  let child: ChildProcess | undefined;

  before(async function () {
    this.timeout(600_000);
    folder = mkdtempSync(join(tmpdir(), 'image-'));
    chmodSync(folder, 0o755);
    image = await runImageSteps(folder);
    // Copies Node, since the other user may have no access to this process's own file.
    node = join(folder, 'node');
    cpSync(process.execPath, node);
  });
  after(async () => {
    child?.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  it('contains the files that run, and neither tests nor a second Node', () => {
    const has = (path: string): boolean => existsSync(join(image.root, image.workdir, path));
    const needed = ['api/start.js', 'api/admin/main.ts', 'console/dist/index.html', 'node_modules/zod'];
    expect(needed.filter((path) => !has(path))).to.deep.equal([]);
    const without = [
      'tests',
      'bench',
      'docs',
      'client',
      'console/src',
      '.git',
      'data',
      '.env',
      'node_modules/mocha',
      'node_modules/react',
      'node_modules/.bin/node',
    ];
    expect(without.filter(has)).to.deep.equal([]);
    expect(globSync(join(image.root, image.workdir, 'node_modules/node-linux-*'))).to.deep.equal([]);
  });

  it('starts as a user without rights, writes into its volume alone, is healthy, and stops on SIGTERM', async () => {
    expect([image.user, image.volume]).to.deep.equal(['node', image.env.DATA_DIR]);
    const data = join(folder, 'volume');
    mkdirSync(data);
    if (other.uid !== undefined) chownSync(data, other.uid, other.gid);
    const port = String(await freePort());
    const env = {
      ...image.env,
      ...KEYS,
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORT: port,
      DATA_DIR: data,
    };
    const cwd = join(image.root, image.workdir);
    const options = { cwd, env, ...other };
    const [file = '', ...args] = image.command;
    expect(file).to.equal('node');
    child = spawn(node, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    }
    const ended = new Promise<number | null>((resolve) => child?.once('exit', (code) => resolve(code)));
    const [probe = '', ...probed] = image.healthCheck;
    expect(probe).to.equal('node');
    const isHealthy = (): Promise<boolean> =>
      promisify(execFile)(node, probed, options).then(
        () => true,
        () => false,
      );
    expect(await isHealthy(), 'before it listens').to.equal(false);
    await eventually('the server listens', () => output.includes('"listening"'), 60_000).catch(() => {
      throw new Error(output);
    });
    expect(await isHealthy()).to.equal(true);
    child.kill('SIGTERM');
    expect(await ended).to.equal(0);
    expect(output).to.contain('"stopped"');
  }).timeout(120_000);

  it('has the variables and the port of the code', () => {
    const known = variables();
    const unknown = Object.keys(image.env).filter((name) => !known.some((one) => one.name === name));
    expect(unknown).to.deep.equal([ARENAS]);
    expect(image.port).to.equal(image.env.PORT);
    expect(image.env.PORT).to.equal(known.find(({ name }) => name === 'PORT')?.fallback);
    expect(packaged().scripts.start).to.equal(
      `${ARENAS}=${image.env[ARENAS]} exec ${image.command.join(' ')}`,
    );
    const [, major] = /node:(\d+)-/.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
    expect(packaged().engines.node).to.equal(`>=${major}`);
  });
});

describe('docker-compose.yml', () => {
  const text = readFileSync('docker-compose.yml', 'utf8');
  /** The indented block under a key. */
  const block = (key: string): string => {
    const within = key.startsWith('x-') ? text : text.slice(text.indexOf('\nservices:'));
    return new RegExp(`^( *)${key}:.*\\n((?:\\1 +.*\\n|\\n)*)`, 'm').exec(within)?.[2] ?? '';
  };

  it('runs two api nodes and two workers beside the servers', () => {
    for (const role of ['api', 'worker']) {
      expect(block(role))
        .to.contain(`ROLE: ${role}`)
        .and.to.match(/replicas: 2/)
        .and.to.contain('healthcheck: *ready');
    }
    for (const server of ['eventstore', 'mongodb']) expect(block(server)).to.contain('healthcheck:');
    expect(block('mongodb-set')).to.contain('rs.initiate');
    for (const limited of ['x-platform', 'eventstore', 'mongodb']) {
      expect(block(limited), limited).to.contain('mem_limit:').and.to.contain('cpus:');
    }
    expect(block('x-platform')).to.contain('read_only: true').and.to.contain('platform-data:/data');
  });

  it('has the variables, addresses, paths and ports of the code', () => {
    const environment = [...block('x-environment').matchAll(/^ +(\w+):/gm)].map(([, name = '']) => name);
    const known = variables().map(({ name }) => name);
    expect(environment).to.include.members(['EVENTSTORE_URL', 'MONGODB_URL', 'DATA_DIR']);
    expect(environment.filter((name) => !known.includes(name))).to.deep.equal([]);
    const dockerfile = readFileSync('Dockerfile', 'utf8');
    const port = /PORT=(\d+)/.exec(dockerfile)?.[1] ?? 'none';
    expect(block('api')).to.contain(`:${port}"`);
    expect(block('x-ready')).to.contain(`:${port}/health/ready`);
    expect(block('x-environment')).to.contain(`PORT: "${port}"`).and.to.contain('DATA_DIR: /data');
    const entry = /entrypoint: \["node", "([^"]+)"\]/.exec(block('admin'))?.[1] ?? '';
    expect(packaged().scripts.admin).to.equal(`node ${entry}`);
  });

  it('publishes ports on the loopback interface only', () => {
    const published = [...text.matchAll(/^ +- "([^"]*:\d+)"$/gm)].map(([, mapping = '']) => mapping);
    expect(published).to.have.length.at.least(3);
    expect(published.filter((mapping) => !mapping.startsWith('127.0.0.1:'))).to.deep.equal([]);
  });
});

describe('ops/workflow-platform.service', () => {
  const unit = readFileSync('ops/workflow-platform.service', 'utf8');

  it('starts what npm start starts, and waits longer than a stop takes', () => {
    const start = /^ExecStart=\S+\/node_modules\/\.bin\/(.+)$/m.exec(unit)?.[1];
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).to.be.greaterThan(10);
    const set = new Map(
      /^Environment=(.+)$/m
        .exec(unit)?.[1]
        ?.split(' ')
        .map((pair) => [pair.split('=')[0], pair.split('=')[1]]),
    );
    expect(packaged().scripts.start).to.equal(`${ARENAS}=${set.get(ARENAS)} exec ${start}`);
    const known = [...variables().map(({ name }) => name), ARENAS];
    expect([...set.keys()].filter((name) => name === undefined || !known.includes(name))).to.deep.equal([]);
  });

  it('allows the sockets that list the addresses of the machine, as each outbound call does', () => {
    const families = /^RestrictAddressFamilies=(.+)$/m.exec(unit)?.[1]?.split(' ');
    expect(families).to.have.members(['AF_INET', 'AF_INET6', 'AF_UNIX', 'AF_NETLINK']);
  });

  it('has no setting that systemd does not know', function () {
    const { stdout, stderr, error } = spawnSync(
      'systemd-analyze',
      ['verify', 'ops/workflow-platform.service'],
      {
        encoding: 'utf8',
      },
    );
    // Skipped without systemd.
    if (error !== undefined) return void this.skip();
    // Ignores that the program is missing: the product is not installed at the unit's path here.
    const complaints = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line.includes('workflow-platform.service'));
    expect(complaints.filter((line) => !line.includes('is not executable'))).to.deep.equal([]);
  });
});
