import { expect } from 'chai';
import { guard } from './forms-support.ts';

describe('The guard with allowed networks', () => {
  const names: Readonly<Record<string, readonly string[]>> = {
    'inside.example': ['10.1.2.3'],
    redis: ['10.20.0.1', 'fd12::1'],
    'svc.ns.svc.cluster.local.': ['10.0.0.7'],
    mixed: ['10.0.0.7', '93.184.215.14'],
    'mixed.example': ['10.0.0.7', '93.184.215.14'],
    'beyond.example': ['10.0.0.7', '192.168.0.1'],
    'public.example': ['93.184.215.14'],
    public: ['93.184.215.14'],
  };
  const asked: string[] = [];
  const { check } = guard({
    allowedNetworks: ['10.0.0.0/8', 'fd00::/8', '198.41.0.4/32'],
    resolve: async (name) => {
      asked.push(name);
      return names[name] ?? [];
    },
  });

  for (const url of [
    'https://10.0.0.1/',
    'https://10.255.255.255:22/',
    'https://167772161:6379/',
    'https://[fd00::1]:5432/',
    'https://198.41.0.4/',
    'https://inside.example:25/',
    'https://redis:6379/',
    'https://svc.ns.svc.cluster.local.:80/',
    'https://mixed.example/',
    'https://public.example/',
    'https://nowhere.example/',
  ]) {
    it(`allows ${url}`, async () => {
      expect(await check(url)).to.deep.equal({ ok: true });
    });
  }

  for (const [url, reason] of [
    ['http://10.0.0.1/', 'scheme'],
    ['https://u@10.0.0.1/', 'user_info'],
    ['https://10.0.0.1\\/', 'malformed'],
    ['https://127.0.0.1/', 'literal_address'],
    ['https://9.9.9.9:22/', 'port'],
    ['https://11.0.0.1:22/', 'port'],
    ['https://[::ffff:10.0.0.1]/', 'literal_address'],
    ['https://[64:ff9b::10.0.0.1]/', 'literal_address'],
    ['https://192.168.0.1/', 'literal_address'],
    ['https://beyond.example/', 'resolved_address'],
    ['https://mixed/', 'host_name'],
    ['https://mixed.example:22/', 'port'],
    ['https://public.example:22/', 'port'],
    ['https://public/', 'host_name'],
    ['https://unknown/', 'host_name'],
    ['https://nowhere.example:22/', 'port'],
  ] as const) {
    it(`refuses ${url} for ${reason}`, async () => {
      expect(await check(url)).to.include({ ok: false, reason });
    });
  }

  it('looks up no internal name when no network is allowed', async () => {
    asked.length = 0;
    const closed = guard({
      resolve: async (name) => {
        asked.push(name);
        return ['93.184.215.14'];
      },
    });
    for (const url of [
      'https://redis/',
      'https://db.internal/',
      'https://example.com:22/',
      'https://u@a.com/',
    ]) {
      expect(await closed.check(url), url).to.include({ ok: false });
    }
    expect(asked).to.deep.equal([]);
  });

  it('refuses an invalid network', () => {
    for (const network of ['10.0.0.0', '10.0.0.0/33', 'intranet', '']) {
      expect(() => guard({ allowedNetworks: [network] }), network).to.throw();
    }
  });
});
