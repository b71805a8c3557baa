import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { validationFailed } from '../../support/shapes.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  BROWSER,
  type Form,
  publicPath,
  published,
  recordsOf,
  send,
  submissionsIn,
  submitted,
} from './support.ts';

/** Decisions, section 1, Idempotency-Key, for public requests. */
describe('Submissions with an Idempotency-Key', () => {
  let world: World;
  let tenant: TestTenant;
  let form: Form;
  let path: string;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    form = await published(tenant, [{ key: 'name', type: 'text', required: true }]);
    path = publicPath(tenant, form);
  });
  after(endWorld);

  const count = async (of: Form = form): Promise<number> =>
    (await recordsOf(tenant.admin, of.entity_name)).length;
  const keyed = (key: string, body: unknown, at = path, api = world.anybody) =>
    api.post(`${at}/submissions`, body, { headers: { 'idempotency-key': key } });
  const ANN = { values: { name: 'Ann' } };

  it('are made once and answered alike, when repeated concurrently or later', async () => {
    const before = await count();
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 10 }, () => keyed(key, ANN)));
    answers.push(await keyed(key, ANN));
    const ids = answers.map((answer) => answer.as(submitted, 201).submission_id);
    expect(new Set(ids).size).to.equal(1);
    const replayed = answers.filter((answer) => answer.header('idempotency-replayed') === 'true');
    expect(replayed).to.have.length(10);
    expect(await count()).to.equal(before + 1);
    const events = submissionsIn(world.server, tenant.id);
    expect(events.filter(({ data }) => data.submission_id === ids[0])).to.have.length(1);
    // Another key is another submission.
    expect((await keyed(randomUUID(), ANN)).as(submitted, 201).submission_id).not.to.equal(ids[0]);
    expect(await count()).to.equal(before + 2);
  });

  it('are refused when the key is reused with another body, and change nothing', async () => {
    const key = randomUUID();
    await keyed(key, ANN);
    const before = await count();
    for (const body of [{ values: { name: 'Eve' } }, { ...ANN, submission_id: 'x' }]) {
      const answer = await keyed(key, body);
      expect([answer.status, answer.error]).to.deep.equal([422, 'idempotency_key_reused']);
    }
    expect(await count()).to.equal(before);
  });

  it('keep their submission_id', async () => {
    const [key, submission_id] = [randomUUID(), randomUUID()];
    for (let i = 0; i < 2; i += 1) {
      const answer = await keyed(key, { ...ANN, submission_id });
      expect(answer.as(submitted, 201)).to.deep.equal({ submission_id });
    }
    const before = await count();
    expect((await send(world.anybody, path, { name: 'Eve' }, submission_id)).status).to.equal(201);
    expect(await count()).to.equal(before);
  });

  it('are refused with an invalid key', async () => {
    const before = await count();
    for (const key of ['', 'é', 'x'.repeat(256)]) {
      const answer = await keyed(key, ANN);
      expect(answer.as(validationFailed, 400).details.field).to.equal('Idempotency-Key');
    }
    expect(await count()).to.equal(before);
  });

  it('may be corrected under the same key after a refusal, in JSON and as a form', async () => {
    const key = randomUUID();
    expect((await keyed(key, { values: {} })).status).to.equal(400);
    const { submission_id } = (await keyed(key, ANN)).as(submitted, 201);
    expect(submission_id).to.match(/^[A-Za-z0-9_-]{1,64}$/);

    const own = randomUUID();
    const post = async (name: string) => {
      const response = await fetch(`${world.server.base}${path}/submissions`, {
        method: 'POST',
        headers: { accept: BROWSER, 'idempotency-key': own },
        body: new URLSearchParams({ name }),
      });
      const type = response.headers.get('content-type');
      return { status: response.status, type, page: await response.text(), headers: response.headers };
    };
    const before = await count();
    const [refused, first, again, other] = [
      await post(''),
      await post('Ann'),
      await post('Ann'),
      await post('Eve'),
    ];
    expect([refused, first, again, other].map(({ status }) => status)).to.deep.equal([400, 201, 201, 422]);
    expect(again.page).to.equal(first.page);
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(again.headers.get('content-security-policy')).to.equal(
      first.headers.get('content-security-policy'),
    );
    for (const { type } of [refused, first, again, other]) {
      expect(type).to.equal('text/html; charset=utf-8');
    }
    expect(await count()).to.equal(before + 1);
  });

  it('have keys that belong to a form, not to a caller', async () => {
    const other = await published(tenant, [{ key: 'name', type: 'text' }]);
    const key = randomUUID();
    const first = (await keyed(key, ANN)).as(submitted, 201);
    const theirs = await keyed(key, { values: { name: 'Other' } }, publicPath(tenant, other));
    expect(theirs.as(submitted, 201)).not.to.deep.equal(first);
    // A credential makes no difference to a public request. The same key in a request of the admin's own is separate.
    const same = await keyed(key, ANN, path, tenant.admin.api);
    expect(same.as(submitted, 201)).to.deep.equal(first);
    const own = await tenant.admin.api.post(
      `/api/v1/tenant/entities/${other.entity_name}/records`,
      { values: { name: 'Mine' } },
      { headers: { 'idempotency-key': key } },
    );
    expect([own.status, own.header('idempotency-replayed')]).to.deep.equal([201, undefined]);
  });

  it('are documented, and other public writes have no such header', async () => {
    const document = z
      .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
      .parse((await world.anybody.get('/openapi.json')).json);
    const has = (at: string) => JSON.stringify(document.paths[at]?.post).includes('"Idempotency-Key"');
    const submissions = '/public/forms/{tenant}/{slug}/submissions';
    expect(has(submissions)).to.equal(true);
    const writes = ['/auth/login', '/super/auth/login', '/api/v1/partner-portal/auth/exchange'];
    expect(writes.map(has)).to.deep.equal([false, false, false]);
  });

  it('are answered with Referrer-Policy, like every public request, also after errors', async () => {
    for (const at of [
      path,
      `${path}-x`,
      '/public/validate/no-such-token',
      '/public/nothing',
      `/api/v1${path}-x`,
    ]) {
      expect((await world.anybody.get(at)).header('referrer-policy'), at).to.equal('no-referrer');
    }
    for (const answer of [await send(world.anybody, path, {}), await world.anybody.delete(path)]) {
      expect(answer.status).to.be.within(400, 405);
      expect(answer.header('referrer-policy')).to.equal('no-referrer');
    }
    expect((await world.anybody.get('/api/v1/tenant/forms')).header('referrer-policy')).to.equal(undefined);
  });

  it('have one effect each at any moment of a crash', async () => {
    const own = await published(tenant, [{ key: 'name', type: 'text', required: true }]);
    const at = publicPath(tenant, own);
    const asked = new Set<string>();
    const answered = new Map<string, string>();
    const post = async (key: string): Promise<boolean> => {
      try {
        const { submission_id } = (await keyed(key, { values: { name: key } }, at)).as(submitted, 201);
        expect(answered.get(key) ?? submission_id).to.equal(submission_id);
        answered.set(key, submission_id);
        return true;
      } catch (error) {
        // Only the connection may fail: a kill does not explain a wrong answer.
        if (error instanceof TypeError) return false;
        throw error;
      }
    };
    for (const killAfter of [2, 25]) {
      const keys = Array.from({ length: 45 }, (_, i) => `${killAfter}-${i}`);
      for (const key of keys) asked.add(key);
      let arrived = 0;
      await Promise.all(
        keys.map(async (key) => {
          if (!(await post(key))) return;
          arrived += 1;
          if (arrived === killAfter) world.server.signal('SIGKILL');
        }),
      );
      await world.server.exited;
      await world.restart();
      await world.ready();
    }
    for (const key of asked) expect(await post(key), key).to.equal(true);
    const events = submissionsIn(world.server, tenant.id).filter(({ data }) => data.form_id === own.id);
    expect(events.map(({ data }) => data.values.name).sort()).to.deep.equal([...asked].sort());
    const records = await tenant.admin.api.get(
      `/api/v1/tenant/entities/${own.entity_name}/records?limit=200`,
    );
    expect(records.json).to.have.length(asked.size);
  }).timeout(60_000);
});
