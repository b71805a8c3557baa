import { expect } from 'chai';
import fc from 'fast-check';
import type { RefusalReason } from '../../../application/ports/outbound-http.ts';
import { type GuardOptions, guardedHttp } from '../../../infrastructure/http/guarded-http.ts';

/** Every name leads to a public address here, and this machine has the address 198.41.0.4 among others. */
const guard = (own: Partial<GuardOptions> = {}) =>
  guardedHttp({
    allowedNetworks: [],
    allowHttp: false,
    resolve: async () => ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
    ownAddresses: () => ['127.0.0.1', '10.1.2.3', '198.41.0.4', '2001:503:ba3e::2:30', 'fe80::1%eth0'],
    ...own,
  });

const literal = (...hosts: string[]): string[] => hosts.map((host) => `https://${host}/hook`);

const REFUSED: Readonly<Record<RefusalReason, readonly string[]>> = {
  malformed: [
    '',
    'https',
    'https:',
    'https://',
    'https:///',
    'https:///example.com/',
    'https:/example.com/',
    'https:example.com',
    '//example.com/',
    '/hook',
    'example.com',
    'https://exa mple.com/',
    ' https://example.com/',
    'https://example.com/ ',
    'https://example.com/a b',
    'https://example.com\\hook',
    'https:\\\\example.com\\',
    'https://example.com\\@127.0.0.1/',
    'https://127.0.0.1\\@example.com/',
    'https://exam\tple.com/',
    'https://127.0.0.1\t/',
    'https://example.com/\r\nX-Header: 1',
    'https://example.com/\n',
    'https://example.com/\u0000',
    'https://example.com/\u007f',
    'https://example.com/\u0085',
    'https://example.com/\u00a0',
    'https://exam\u00adple.com/',
    'https://exam\u200bple.com/',
    'https://exam\u200dple.com/',
    'https://example.com/\u202e',
    'https://example.com/\u2028',
    'https://\ufeffexample.com/',
    'https://example.com/\ud800',
    'https://example.com:65536/',
    'https://example.com:99999/',
    'https://example.com:-1/',
    'https://example.com:4_43/',
    'https://example.com:port/',
    'https://:443/',
    'https://example.com:443:80/',
    'https://127.0.0.1:443:80/',
    'https://[::1/',
    'https://::1/',
    'https://[]/',
    'https://[::1]extra/',
    'https://[::1].example.com/',
    'https://[fe80::1%25eth0]/',
    'https://[fe80::1%eth0]/',
    'https://[fe80::1%251]/',
    'https://[::g]/',
    'https://[1::2::3]/',
    'https://[::127.0.0.256]/',
    'https://[::0x7f.0.0.1]/',
    'https://[::ffff:127.1]/',
    'https://256.0.0.1/',
    'https://127.0.0.256/',
    'https://4294967296/',
    'https://0x100000000/',
    'https://1.2.3.4.5/',
    'https://127.0.0.1.1/',
    'https://0xg.0.0.1/',
    'https://example.1/',
    'https://%31%32%37.0.0.1/',
    'https://127%2e0%2e0%2e1/',
    'https://ex%61mple.com/',
    'https://localhost%00.example.com/',
    'https://example.com%2f.127.0.0.1/',
    'https://example.com%5c.example.com/',
    'https://exa<mple.com/',
    'https://exa|mple.com/',
    'https://exa^mple.com/',
    `https://example.com/${'a'.repeat(8_000)}`,
  ],
  scheme: [
    'http://example.com/',
    'HTTP://example.com/',
    'http://127.0.0.1/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'file://localhost/etc/passwd',
    'gopher://127.0.0.1:6379/_INFO',
    'dict://127.0.0.1:11211/stat',
    'ldap://127.0.0.1/',
    'ws://example.com/',
    'wss://example.com/',
    'data:text/plain,hello',
    'javascript:alert(1)',
    'blob:https://example.com/1',
    'unix:/var/run/docker.sock',
    'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
    'jar:https://example.com!/',
    'httpss://example.com/',
    'url:https://example.com/',
    'view-source:https://example.com/',
  ],
  user_info: [
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://:password@example.com/',
    'https://@example.com/',
    'https://:@example.com/',
    'https://example.com@127.0.0.1/',
    'https://127.0.0.1@example.com/',
    'https://example.com:443@127.0.0.1/',
    'https://a@b@example.com/',
    'https://%31@example.com/',
    'https://example.com%2f@127.0.0.1/',
    'https://user%40example.com@127.0.0.1/',
  ],
  port: [
    ...[0, 1, 7, 21, 22, 23, 25, 53, 80, 110, 143, 389, 442, 444, 445, 465, 514, 587, 636, 993, 1023],
    ...[2375, 2379, 3306, 5432, 5672, 6379, 9042, 9200, 10_250, 11_211, 27_017],
  ].map((port) => `https://example.com:${port}/`),
  host_name: [
    ...['localhost', 'LOCALHOST', 'LocalHost', 'localhost.', 'a.localhost', 'a.b.localhost.'],
    ...['intranet', 'metadata', 'kubernetes', 'redis', 'a', 'host-1', 'xn--mnchen-3ya', 'xn--a'],
    ...['printer.local', 'a.b.LOCAL', 'printer.local.', 'metadata.google.internal', 'a.internal'],
    ...[
      'host.docker.internal',
      'router.home.arpa',
      'home.arpa',
      'api.svc.cluster.local',
      'svc.cluster.local',
    ],
    ...[
      'kubernetes.default.svc.cluster.local',
      'ⓛocalhost',
      'ｌｏｃａｌｈｏｓｔ',
      'a。localhost',
      'a.ｌocal',
    ],
    ...['example.com.', 'example.com..', 'example..com', '.example.com', '..', '*.example.com', 'a!b.com'],
    ...[
      "a'b.com",
      'a$b.com',
      'a,b.com',
      'a;b.com',
      'a(b).com',
      'a~b.com',
      '-a.com',
      'a-.com',
      'xn--ls8h=.example.com',
    ],
    ...[`${'a'.repeat(64)}.com`, `${'a.'.repeat(130)}com`, 'a`b.com', 'a{b}.com', 'a"b.com', 'a&b.com'],
  ].map((host) => `https://${host}/`),
  literal_address: literal(
    // 127.0.0.1 and its like, in each spelling that the URL parser reads
    ...['127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '2130706433', '0x7f000001', '0X7F000001'],
    ...['017700000001', '0177.0.0.1', '0x7f.0.0.1', '0x7f.1', '0177.1', '127.0x0.0.01', '0x7f.0x0.0x0.0x1'],
    ...[
      '00000000177.0.0.1',
      '127.0.0.01',
      '127.000.000.001',
      '0x0000007f.1',
      '127.255.255.254',
      '127.0.0.53',
    ],
    ...['127。0。0。1', '127．0．0．1', '１２７.0.0.1', '①②⑦.⓪.⓪.①', '127｡0｡0｡1', '𝟏𝟐𝟕.0.0.1', '⑫7.0.0.1'],
    ...['0', '0.0.0.0', '0x0', '0.0.0.1', '0.255.255.255', '00', '0x', '0x.0x.0'],
    // every special-purpose block, at both ends
    ...['10.0.0.0', '10.255.255.255', '167772161', '0xa000001', '012.0.0.1', '10.1'],
    ...['100.64.0.0', '100.127.255.255', '100.100.100.200', '169.254.0.0', '169.254.255.255'],
    ...[
      '169.254.169.254',
      '2852039166',
      '0xa9fea9fe',
      '0251.0376.0251.0376',
      '169.254.43518',
      '169.16689662',
    ],
    ...['172.16.0.0', '172.31.255.255', '0xac.0x10.0.1', '192.0.0.0', '192.0.0.192', '192.0.0.255'],
    ...['192.0.2.0', '192.0.2.255', '192.31.196.1', '192.52.193.1', '192.88.99.0', '192.88.99.255'],
    ...['192.168.0.0', '192.168.255.255', '3232235777', '192.168.257', '192.175.48.1', '198.18.0.0'],
    ...['198.19.255.255', '198.51.100.0', '198.51.100.255', '203.0.113.0', '203.0.113.255', '224.0.0.1'],
    ...['239.255.255.255', '240.0.0.0', '255.255.255.255', '4294967295', '0xffffffff', '168.63.129.16'],
    ...['2822734096', '0xa83f8110'],
    // IPv6: special blocks, and every way to carry an IPv4 address
    ...['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::2]', '[::127.0.0.1]', '[::7f00:1]'],
    ...[
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::FFFF:7F00:1]',
      '[0:0:0:0:0:ffff:7f00:1]',
      '[::ffff:8.8.8.8]',
    ],
    ...['[::ffff:0:127.0.0.1]', '[::ffff:0:7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b::8.8.8.8]'],
    ...[
      '[64:ff9b::a9fe:a9fe]',
      '[64:ff9b:1::7f00:1]',
      '[64:ff9b:1:fffe::1]',
      '[100::]',
      '[100::1]',
      '[100:0:0:1::1]',
    ],
    ...['[2002:7f00:1::]', '[2002:a9fe:a9fe::1]', '[2002:808:808::]', '[2001::]', '[2001:0:7f00:1::]'],
    ...[
      '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
      '[2001:1::1]',
      '[2001:2::1]',
      '[2001:20::1]',
      '[2001:30::1]',
    ],
    ...[
      '[2001:1ff:ffff::1]',
      '[2001:db8::]',
      '[2001:db8:ffff::1]',
      '[3fff::1]',
      '[3fff:fff::1]',
      '[3ffe::1]',
    ],
    ...['[2620:4f:8000::1]', '[1fff::1]', '[4000::1]', '[5f00::1]', '[8000::1]', '[fc00::1]', '[fd00::1]'],
    ...['[fd00:ec2::254]', '[fdff:ffff::1]', '[fe00::1]', '[fe80::1]', '[febf::1]', '[fec0::1]', '[ff02::1]'],
    ...['[ff00::]', '[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]', '[1::1]', '[0:1::]'],
    // the addresses of this machine
    ...['198.41.0.4', '3324575748', '0xc6290004', '[2001:503:ba3e::2:30]', '[2001:0503:BA3E:0:0:0:2:30]'],
  ),
  resolved_address: [],
};

const TAKEN = [
  'https://example.com',
  'https://example.com/',
  'HTTPS://EXAMPLE.COM/Hook?a=b&c=%20d#part',
  'https://example.com:443/',
  'https://example.com:1024/',
  'https://example.com:8443/hook',
  'https://example.com:65535/',
  'https://hooks.a-b.example.co.uk/x@y',
  'https://example.com?user@host',
  'https://example.com#user@host',
  'https://bücher.example/ä',
  'https://xn--bcher-kva.example/',
  'https://münchen.de/',
  'https://_dmarc.example.com/',
  'https://1.example.com/',
  'https://123.com/',
  'https://127.0.0.1.nip.example/',
  'https://localhost.example.com/',
  'https://notlocalhost.com/',
  'https://mylocal.com/',
  'https://internal.example.com/',
  'https://arpa.example/',
  'https://8.8.8.8/',
  'https://134744072/',
  'https://1.1.1.1:8443/',
  'https://9.255.255.255/',
  'https://11.0.0.0/',
  'https://100.63.255.255/',
  'https://100.128.0.0/',
  'https://126.255.255.255/',
  'https://128.0.0.1/',
  'https://168.63.129.15/',
  'https://168.63.129.17/',
  'https://169.253.255.255/',
  'https://172.15.255.255/',
  'https://172.32.0.0/',
  'https://192.0.1.0/',
  'https://192.167.255.255/',
  'https://192.169.0.0/',
  'https://198.17.255.255/',
  'https://198.20.0.0/',
  'https://223.255.255.255/',
  'https://198.41.0.5/',
  'https://[2606:4700:4700::1111]/',
  'https://[2000::1]/',
  'https://[2001:200::1]/',
  'https://[2001:db7::1]/',
  'https://[2001:db9::1]/',
  'https://[2003::1]/',
  'https://[3ffd::1]/',
  'https://[2a00:1450:4001:80b::200e]:8443/',
];

describe('a guarded call', () => {
  const { check } = guard();

  for (const [reason, urls] of Object.entries(REFUSED)) {
    for (const url of urls) {
      it(`is refused for ${reason}: ${JSON.stringify(url).slice(0, 90)}`, async () => {
        expect(await check(url)).to.include({ ok: false, reason });
      });
    }
  }

  for (const url of TAKEN) {
    it(`is made: ${url}`, async () => {
      expect(await check(url)).to.deep.equal({ ok: true });
    });
  }

  it('refuses the same when it is made, and sends nothing', async () => {
    const { request } = guard();
    for (const [reason, urls] of Object.entries(REFUSED)) {
      for (const url of urls) {
        const limits = { timeoutMs: 2_000, maxResponseBytes: 100 };
        const answer = await request({ url, method: 'POST', headers: {}, body: 'x', ...limits });
        expect(answer, url).to.include({ kind: 'refused', reason });
      }
    }
  });

  it('with http allowed is also made by http and at port 80, and as before in all else', async () => {
    const open = guard({ allowHttp: true });
    for (const url of [
      'http://example.com/',
      'http://example.com:8080/',
      'https://example.com:80/',
      ...TAKEN,
    ]) {
      expect(await open.check(url), url).to.deep.equal({ ok: true });
    }
    for (const [url, reason] of [
      ['http://127.0.0.1/', 'literal_address'],
      ['http://2130706433:8080/', 'literal_address'],
      ['http://localhost/', 'host_name'],
      ['http://example.com:22/', 'port'],
      ['http://example.com:6379/', 'port'],
      ['http://user@example.com/', 'user_info'],
      ['ftp://example.com/', 'scheme'],
    ] as const) {
      expect(await open.check(url), url).to.include({ ok: false, reason });
    }
  });

  it('is judged by the address alone, however an address is spelled', async () => {
    const byte = fc.integer({ min: 0, max: 255 });
    const spellings = ([a, b, c, d]: readonly [number, number, number, number]): string[] => {
      const whole = ((a * 256 + b) * 256 + c) * 256 + d;
      const octal = (value: number): string => `0${value.toString(8)}`;
      const hex = (value: number): string => `0x${value.toString(16)}`;
      return [
        `${whole}`,
        hex(whole),
        octal(whole),
        `${a}.${whole % 2 ** 24}`,
        `${a}.${b}.${whole % 2 ** 16}`,
        [a, b, c, d].map(octal).join('.'),
        [a, b, c, d].map(hex).join('.'),
        `${[a, b, c, d].join('.')}.`,
        [a, b, c, d].join('。'),
      ];
    };
    await fc.assert(
      fc.asyncProperty(fc.tuple(byte, byte, byte, byte), async (parts) => {
        const plain = await check(`https://${parts.join('.')}/`);
        for (const host of spellings(parts))
          expect(await check(`https://${host}/`), host).to.deep.equal(plain);
        const [high, low] = [parts[0] * 256 + parts[1], parts[2] * 256 + parts[3]].map((n) => n.toString(16));
        for (const prefix of ['::', '::ffff:', '::ffff:0:', '64:ff9b::', '64:ff9b:1::']) {
          for (const tail of [parts.join('.'), `${high}:${low}`]) {
            expect(await check(`https://[${prefix}${tail}]/`)).to.include({ ok: false });
          }
        }
        expect(await check(`https://[2002:${high}:${low}::1]/`)).to.include({ ok: false });
      }),
      { numRuns: 200 },
    );
  });

  it('is answered for any text whatever', async () => {
    const piece = fc.constantFrom(
      'https://',
      '@',
      '[',
      ']',
      ':',
      '/',
      '\\',
      '%',
      '.',
      '127',
      '::',
      'a',
      'x.com',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece).map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(text, async (url) => {
        expect((await check(url)).ok).to.be.a('boolean');
      }),
      { numRuns: 500 },
    );
  });
});

describe('the guard with allowed networks', () => {
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
    it(`lets through ${url}`, async () => {
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

  it('asks for no internal name where no network is allowed', async () => {
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

  it('is not made with a network that is none', () => {
    for (const network of ['10.0.0.0', '10.0.0.0/33', 'intranet', '']) {
      expect(() => guard({ allowedNetworks: [network] }), network).to.throw();
    }
  });
});

describe('a name', () => {
  const answered = (...addresses: string[]) =>
    guard({ resolve: async () => addresses }).check('https://hooks.example/');

  for (const address of [
    ...['127.0.0.1', '0.0.0.0', '10.0.0.1', '100.64.0.1', '169.254.169.254', '172.16.0.1', '192.168.1.1'],
    ...[
      '168.63.129.16',
      '224.0.0.1',
      '255.255.255.255',
      '198.41.0.4',
      '::',
      '::1',
      '::ffff:8.8.8.8',
      '::7f00:1',
    ],
    ...['fe80::1', 'fe80::1%eth0', 'fd00::1', '64:ff9b::808:808', '2002:7f00:1::', '2001:db8::1', 'ff02::1'],
    ...[
      '2001:503:ba3e::2:30',
      '8.8.8.8%eth0',
      '2606:4700::1%lo',
      '127.1',
      '0x7f.1',
      '',
      'example.com',
      '8.8.8.8/32',
    ],
  ]) {
    it(`that has ${JSON.stringify(address)} among its addresses is refused, wherever that stands`, async () => {
      const refusal = { ok: false, reason: 'resolved_address' };
      expect(await answered(address)).to.include(refusal);
      expect(await answered(address, '93.184.215.14')).to.include(refusal);
      expect(await answered('93.184.215.14', '2606:2800::1', address)).to.include(refusal);
    });
  }

  it('without an answer is taken for now', async () => {
    expect(await answered()).to.deep.equal({ ok: true });
    const failing = guard({ resolve: () => Promise.reject(new Error('SERVFAIL')) });
    expect(await failing.check('https://hooks.example/')).to.deep.equal({ ok: true });
    const silent = guard({ resolve: () => new Promise(() => undefined), checkTimeoutMs: 20 });
    expect(await silent.check('https://hooks.example/')).to.deep.equal({ ok: true });
  });

  it('keeps its addresses to itself', async () => {
    const verdict = await answered('10.11.12.13');
    expect(JSON.stringify(verdict)).not.to.include('10.11');
  });
});
