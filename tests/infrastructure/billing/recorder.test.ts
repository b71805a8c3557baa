import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { recorder } from '../../../infrastructure/billing/recorder.ts';

describe('The embedded recorder of invoices', () => {
  let data: string;
  let path: string;
  const never = new AbortController().signal;

  beforeEach(async () => {
    data = await mkdtemp(join(tmpdir(), 'recorder-'));
    path = join(data, 'billing');
  });
  afterEach(() => rm(data, { recursive: true, force: true }));

  const files = async () => (await readdir(path)).filter((name) => name.endsWith('.json')).sort();

  it('stores a file per key, and finds it again', async () => {
    const upstream = recorder({ path });
    expect(await upstream.find('partner-invoice-a-1', never)).to.deep.equal({ kind: 'absent' });
    const accepted = { kind: 'accepted', reference: 'recorded-partner-invoice-a-1' };
    expect(await upstream.send('partner-invoice-a-1', '{"a":1}', never)).to.deep.equal(accepted);
    expect(await upstream.send('partner-invoice-a-1', '{"a":2}', never)).to.deep.equal(accepted);
    expect(await recorder({ path }).find('partner-invoice-a-1', never)).to.deep.equal({
      kind: 'found',
      reference: accepted.reference,
    });
    await recorder({ path }).send('partner-invoice-b-1', '{}', never);
    expect(await files()).to.deep.equal(['partner-invoice-a-1.json', 'partner-invoice-b-1.json']);
    expect(await readFile(join(path, 'partner-invoice-a-1.json'), 'utf8')).to.equal('{"a":1}');
    expect(await readdir(join(path, '.incoming'))).to.deep.equal([]);
  });

  it('stores one whole document of many concurrent callers', async () => {
    const upstreams = Array.from({ length: 8 }, () => recorder({ path }));
    const key = 'partner-invoice-a-1';
    const answers = await Promise.all(
      upstreams.map((upstream, i) =>
        upstream.send(key, JSON.stringify({ i, text: 'x'.repeat(50_000) }), never),
      ),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).to.equal(1);
    expect(await files()).to.deep.equal([`${key}.json`]);
    expect(JSON.parse(await readFile(join(path, `${key}.json`), 'utf8'))).to.have.property('text');
  });

  it('refuses a key that leads out of the folder', async () => {
    const key = '../escaped';
    const caught = await recorder({ path })
      .send(key, '{}', never)
      .catch((error: unknown) => error);
    expect(caught).to.be.instanceOf(Error);
    expect(await readdir(data)).to.deep.equal([]);
  });

  it('gives no answer while the folder cannot be written, and continues afterwards', async () => {
    await writeFile(path, 'in the way');
    const upstream = recorder({ path });
    expect((await upstream.send('partner-invoice-a-1', '{}', never)).kind).to.equal('unknown');
    expect((await upstream.find('partner-invoice-a-1', never)).kind).to.equal('unknown');
    await rm(path);
    expect((await upstream.send('partner-invoice-a-1', '{}', never)).kind).to.equal('accepted');
  });

  it('leaves no part of a document that does not fit on the disk', async () => {
    const script = `
      import { recorder } from ${JSON.stringify(join(import.meta.dirname, '../../../infrastructure/billing/recorder.ts'))};
      const upstream = recorder({ path: ${JSON.stringify(path)} });
      const { signal } = new AbortController();
      const { kind } = await upstream.send('partner-invoice-a-1', 'x'.repeat(20_000), signal);
      process.stdout.write(kind);`;
    // The limit of a file's size (KiB or blocks of 512 bytes) stands for a full disk.
    const command = `ulimit -f 4; exec "$0" --input-type=module -e "$1"`;
    const child = spawn('sh', ['-c', command, process.execPath, script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await text(child.stdout)).to.equal('unknown');
    expect(await readdir(join(path, '.incoming'))).to.deep.equal([]);
  }).timeout(30_000);

  it('has a whole document for each acknowledged call after kill -9 at any moment', async () => {
    const script = `
      import { recorder } from ${JSON.stringify(join(import.meta.dirname, '../../../infrastructure/billing/recorder.ts'))};
      const upstream = recorder({ path: ${JSON.stringify(path)} });
      const { signal } = new AbortController();
      for (let i = 0; ; i += 1) {
        const key = 'partner-invoice-' + process.pid + '-' + i;
        await upstream.send(key, JSON.stringify({ key, text: 'x'.repeat(20000) }), signal);
        process.stdout.write(key + '\\n');
      }`;
    const acknowledged: string[] = [];
    for (const after of [1, 7, 20]) {
      const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.split('\n').length > after) child.kill('SIGKILL');
      });
      await once(child, 'close');
      acknowledged.push(...output.split('\n').slice(0, -1));
    }
    const there = await files();
    for (const key of acknowledged) expect(there).to.include(`${key}.json`);
    for (const name of there) {
      const { key } = JSON.parse(await readFile(join(path, name), 'utf8')) as { key: string };
      expect(`${key}.json`).to.equal(name);
    }
    expect(acknowledged.length).to.be.greaterThan(27);
  }).timeout(60_000);
});
