import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { nameServers } from '../../../infrastructure/http/dns.ts';
import { guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { rejection } from '../../support/eventually.ts';
import { startNameServer, type Zone } from '../../support/name-server.ts';

describe('The addresses of a name', () => {
  const zones: Record<string, Zone> = {
    'both.example': { addresses: ['93.184.215.14', '93.184.215.15', '2606:2800::1'] },
    'chain.example': { addresses: ['10.0.0.9'], aliases: ['a.example', 'b.example', 'db.internal'] },
    'empty.example': {},
    'gone.example': { status: 3 },
    'failing.example': { status: 2 },
    'silent.example': { silent: true },
  };
  const HOSTS = [
    '127.0.0.1 localhost',
    '# 10.0.0.1 hidden.example',
    '10.0.0.2\tinside.example   Short # both.example',
    '  fd00::2 inside.example',
    '10.0.0.3',
    '',
  ].join('\n');
  let hostsFile = '';
  let server: Awaited<ReturnType<typeof startNameServer>>;
  const never = new AbortController().signal;
  const resolve = (name: string, signal = never) =>
    nameServers({ servers: [server.address], hostsFile })(name, signal);

  before(async () => {
    hostsFile = join(await mkdtemp(join(tmpdir(), 'hosts-')), 'hosts');
    await writeFile(hostsFile, HOSTS);
    server = await startNameServer((name) => zones[name] ?? { status: 3 });
  });
  beforeEach(() => {
    server.asked.length = 0;
  });
  after(async () => {
    await server.stop();
    await rm(dirname(hostsFile), { recursive: true });
  });

  it('are those of IPv4 and of IPv6', async () => {
    expect(await resolve('both.example')).to.have.members(['93.184.215.14', '93.184.215.15', '2606:2800::1']);
    expect(server.asked).to.have.members(['both.example A', 'both.example AAAA']);
  });

  it('are looked up each time, for the exact name', async () => {
    await resolve('both.example');
    await resolve('both.example.');
    expect(server.asked).to.have.lengthOf(4);
    await resolve('gone.example');
    expect(server.asked.slice(4)).to.have.members(['gone.example A', 'gone.example AAAA']);
  });

  it('are empty for a name without addresses', async () => {
    expect(await resolve('empty.example')).to.deep.equal([]);
    expect(await resolve('gone.example')).to.deep.equal([]);
  });

  it('are unknown when the server fails', async () => {
    expect(await rejection(resolve('failing.example'))).to.be.instanceOf(Error);
  });

  it('are not awaited after the call is aborted', async () => {
    const stop = new AbortController();
    const waiting = resolve('silent.example', stop.signal);
    setTimeout(() => stop.abort(), 20);
    expect(await rejection(waiting)).to.be.instanceOf(Error);
  });

  it('of loopback names need no look-up', async () => {
    for (const name of ['localhost', 'localhost.', 'a.localhost']) {
      expect(await resolve(name), name).to.have.members(['127.0.0.1', '::1']);
    }
    expect(server.asked).to.deep.equal([]);
  });

  it('come from the hosts file first', async () => {
    expect(await resolve('inside.example')).to.deep.equal(['10.0.0.2', 'fd00::2']);
    expect(await resolve('short.')).to.deep.equal(['10.0.0.2']);
    expect(server.asked).to.deep.equal([]);
    expect(await resolve('hidden.example')).to.deep.equal([]);
    expect(await resolve('both.example')).to.include('93.184.215.14');
    const guard = guardedHttp({ allowedNetworks: [], allowHttp: false, resolve });
    expect(await guard.check('https://inside.example/')).to.include({
      ok: false,
      reason: 'resolved_address',
    });
    const without = nameServers({ servers: [server.address], hostsFile: `${hostsFile}-none` });
    expect(await without('both.example', never)).to.have.lengthOf(3);
  });

  it('are checked at the end of a chain of aliases', async () => {
    const guard = guardedHttp({ allowedNetworks: [], allowHttp: false, resolve });
    expect(await guard.check('https://chain.example/')).to.include({ ok: false, reason: 'resolved_address' });
    expect(await guard.check('https://both.example/')).to.deep.equal({ ok: true });
    expect(await guard.check('https://gone.example/')).to.deep.equal({ ok: true });
    expect(await guard.check('https://failing.example/')).to.deep.equal({ ok: true });
  });

  it('fail a call when there are none', async () => {
    const guard = guardedHttp({ allowedNetworks: [], allowHttp: false, resolve });
    const call = { method: 'GET', headers: {}, timeoutMs: 5_000, maxResponseBytes: 10 } as const;
    for (const name of ['gone.example', 'empty.example', 'failing.example']) {
      const answer = await guard.request({ ...call, url: `https://${name}/` });
      expect(answer, name).to.include({ kind: 'failed', reason: 'dns' });
    }
    const late = await guard.request({ ...call, timeoutMs: 50, url: 'https://silent.example/' });
    expect(late).to.include({ kind: 'failed', reason: 'timeout' });
  });
});
