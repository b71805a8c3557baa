import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { z } from 'zod';
import { signatureOf } from '../../application/webhooks/signature.ts';
import {
  addRecord,
  OPEN,
  ofStatus,
  paidTenant,
  plainEntity,
  readDelivery,
  subscribe,
  WEBHOOKS,
} from '../e2e/webhooks/support.ts';
import { eventually } from '../support/server.ts';
import { endWorld, sharedWorld } from '../support/world.ts';

const PAGE = join(import.meta.dirname, '../../docs/webhooks.md');
const vectors = z
  .array(z.strictObject({ secret: z.string(), body: z.string(), signature: z.string() }))
  .min(4);
type Verify = (headers: Record<string, string | undefined>, body: Uint8Array, secret: string) => boolean;

/** Runs the verifiers and the receiver of the page, as customers copy them. */
describe('The page on webhooks', () => {
  let page: string;
  let folder: string;
  const blocks = (language: string): string[] =>
    [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, code = '']) => code);
  const known = () => vectors.parse(JSON.parse(blocks('json').at(-1) ?? ''));

  before(async () => {
    page = await readFile(PAGE, 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'receiver-kit-'));
  });
  after(async () => {
    await endWorld();
    await rm(folder, { recursive: true, force: true });
  });

  it('has test vectors that the product’s signatures and openssl confirm', () => {
    for (const { secret, body, signature } of known()) {
      expect(signatureOf(secret, Buffer.from(body))).to.equal(signature);
      const options = { input: Buffer.from(body), encoding: 'utf8' } as const;
      const said = spawnSync('openssl', ['dgst', '-sha256', '-hmac', secret], options);
      expect(said.stdout, said.stderr).to.match(new RegExp(`= ${signature.slice('sha256='.length)}\\s*$`));
    }
  });

  const cases = () => {
    const [one] = known();
    if (one === undefined) throw new Error('no vectors');
    const other = signatureOf('whsec_another', Buffer.from(one.body));
    const bad: (string | undefined)[] = [
      undefined,
      '',
      other,
      one.signature.slice(0, -1),
      `${one.signature}0`,
      one.signature.toUpperCase(),
      one.signature.slice('sha256='.length),
      `sha256=${'zz'.repeat(32)}`,
      `${one.signature}, ${one.signature}`,
      'sha256=größe',
    ];
    return [
      ...known().flatMap(({ secret, body, signature }) => [
        { headers: { 'x-service-signature': signature }, body, secret, good: true },
        {
          headers: { 'x-service-signature': other, 'x-service-signature-previous': signature },
          body,
          secret,
          good: true,
        },
        { headers: { 'x-service-signature': signature }, body: `${body} `, secret, good: false },
        { headers: { 'x-service-signature': signature }, body, secret: secret.slice(6), good: false },
      ]),
      ...bad.map((signature) => ({
        headers: signature === undefined ? {} : { 'x-service-signature': signature },
        body: one.body,
        secret: one.secret,
        good: false,
      })),
    ];
  };

  it('has verifiers that accept the vectors in the header of either secret, and nothing else', async () => {
    const [typescript = ''] = blocks('ts');
    const file = join(folder, 'verify.ts');
    await writeFile(file, typescript);
    const { verify } = (await import(pathToFileURL(file).href)) as { verify: Verify };
    for (const { headers, body, secret, good } of cases()) {
      expect(verify(headers, Buffer.from(body), secret), JSON.stringify(headers)).to.equal(good);
    }
    const [python = ''] = blocks('python');
    const script = `${python}
import json, sys
print(json.dumps([verify(c["headers"], c["body"].encode(), c["secret"]) for c in json.load(sys.stdin)]))`;
    const said = spawnSync('python3', ['-c', script], { input: JSON.stringify(cases()), encoding: 'utf8' });
    expect(said.status, said.stderr).to.equal(0);
    expect(JSON.parse(said.stdout)).to.deep.equal(cases().map(({ good }) => good));
  });

  it('has a receiver that handles each event once, and refuses what is not signed', async () => {
    const [, receiver = ''] = blocks('js');
    const file = join(folder, 'receiver.mjs');
    await writeFile(file, receiver);
    const world = await sharedWorld(OPEN);
    const tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
    // The receiver starts with the subscription's secret, so the subscription gets the receiver's port later.
    const hook = await subscribe(tenant.admin, 'http://127.0.0.1:9/');
    let output = '';
    const child = spawn(process.execPath, [file], { env: { WEBHOOK_SECRET: hook.secret, PORT: '0' } });
    child.stdout.on('data', (text) => (output += String(text)));
    try {
      const port = await eventually('the receiver', () => /listening at (\d+)/.exec(output)?.[1]);
      const url = `http://127.0.0.1:${port}/`;
      await tenant.admin.api.patch(`${WEBHOOKS}/${hook.id}`, { url });
      await addRecord(tenant.admin, 'crate', 'Größe 😀');
      const [first] = await ofStatus(tenant.admin, hook.id, 'delivered', 1);
      expect(output).to.match(/^entity\.created \S+ \{.*Größe 😀.*\}$/m);
      await tenant.admin.api.post(`${WEBHOOKS}/deliveries/${first?.id}/replay`);
      await eventually('the replay', () => output.includes(`entity.created ${first?.id} again`));
      await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/rotate-secret`);
      await addRecord(tenant.admin, 'crate', 'by the former secret too');
      await eventually('a delivery', () => output.includes('by the former secret too'));
      const { body } = await readDelivery(tenant.admin, first?.id ?? '');
      const headers = {
        'webhook-id': first?.id ?? '',
        'webhook-timestamp': `${Math.floor(Date.now() / 1000)}`,
      };
      for (const signature of ['', 'v1,', `v1,${'A'.repeat(43)}=`]) {
        const own = { ...headers, 'webhook-signature': signature };
        expect((await fetch(url, { method: 'POST', headers: own, body })).status, signature).to.equal(401);
      }
    } finally {
      child.kill('SIGKILL');
    }
  }).timeout(60_000);
});
