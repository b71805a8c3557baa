import { expect } from 'chai';
import { endWorld, sharedWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { OPEN, paidTenant, subscribe, WEBHOOKS } from './support.ts';

const REFUSED = [
  ['http://receiver.example.com/', 'scheme'],
  ['https://user@receiver.example.com/', 'user_info'],
  ['https://receiver.example.com:6379/', 'port'],
  ['https://receiver.example.com:22/', 'port'],
  ['https://localhost/', 'host_name'],
  ['https://metadata.google.internal/', 'host_name'],
  ['https://127.0.0.1/', 'literal_address'],
  ['https://2130706433/', 'literal_address'],
  ['https://0x7f.1/', 'literal_address'],
  ['https://[::1]/', 'literal_address'],
  ['https://[::ffff:7f00:1]/', 'literal_address'],
  ['https://10.0.0.1/', 'literal_address'],
  ['https://172.16.0.1/', 'literal_address'],
  ['https://192.168.0.1/', 'literal_address'],
  ['https://169.254.169.254/', 'literal_address'],
  ['https://168.63.129.16/', 'literal_address'],
  ['https://[fe80::1]/', 'literal_address'],
  ['https://[fc00::1]/', 'literal_address'],
  ['https://[64:ff9b::a9fe:a9fe]/', 'literal_address'],
] as const;

describe('The guard of webhooks', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await paidTenant(world);
  });
  after(endWorld);

  it('refuses forbidden URLs when they are saved, with the reason', async () => {
    const { api } = tenant.admin;
    const { id } = await subscribe(tenant.admin, 'https://9.9.9.9:8443/hook');
    for (const [url, reason] of REFUSED) {
      for (const answer of [
        await api.post(WEBHOOKS, { url, events: '*' }),
        await api.patch(`${WEBHOOKS}/${id}`, { url }),
      ]) {
        expect([answer.status, answer.error], url).to.deep.equal([422, 'url_refused']);
        expect(answer.json, url).to.have.nested.property('details.reason', reason);
      }
    }
    expect((await api.get(`${WEBHOOKS}/${id}`)).json).to.include({ url: 'https://9.9.9.9:8443/hook' });
  });

  it('is complete unless the operator opens networks, which the start logs', async () => {
    expect(world.server.output()).not.to.match(/WEBHOOK_ALLOW|SSO_ALLOW/);
    const open = await startWorld({ env: { ...OPEN, SSO_ALLOWED_NETWORKS: '10.0.0.0/8' } });
    const { admin } = await paidTenant(open);
    const warnings = open.server
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"warn"'));
    for (const said of ['WEBHOOK_ALLOWED_NETWORKS', 'WEBHOOK_ALLOW_HTTP', 'SSO_ALLOWED_NETWORKS']) {
      expect(
        warnings.filter((line) => line.includes(said)),
        said,
      ).to.have.lengthOf(1);
    }
    await subscribe(admin, 'http://127.0.0.1:6379/');
    const beyond = await admin.api.post(WEBHOOKS, { url: 'https://10.0.0.1/', events: '*' });
    expect([beyond.status, beyond.error]).to.deep.equal([422, 'url_refused']);
  });
});
