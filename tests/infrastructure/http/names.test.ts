import { expect } from 'chai';
import { guard } from './forms-support.ts';

describe('A name', () => {
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
    it(`that has ${JSON.stringify(address)} among its addresses is refused, in any position`, async () => {
      const refusal = { ok: false, reason: 'resolved_address' };
      expect(await answered(address)).to.include(refusal);
      expect(await answered(address, '93.184.215.14')).to.include(refusal);
      expect(await answered('93.184.215.14', '2606:2800::1', address)).to.include(refusal);
    });
  }

  it('that cannot be looked up is accepted, since each call checks it again', async () => {
    expect(await answered()).to.deep.equal({ ok: true });
    const failing = guard({ resolve: () => Promise.reject(new Error('SERVFAIL')) });
    expect(await failing.check('https://hooks.example/')).to.deep.equal({ ok: true });
    const silent = guard({ resolve: () => new Promise(() => undefined), checkTimeoutMs: 20 });
    expect(await silent.check('https://hooks.example/')).to.deep.equal({ ok: true });
  });

  it('does not reveal its addresses', async () => {
    const verdict = await answered('10.11.12.13');
    expect(JSON.stringify(verdict)).not.to.include('10.11');
  });
});
