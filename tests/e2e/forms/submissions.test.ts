import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { wholeLog } from '../../support/event-log.ts';
import { eventually } from '../../support/server.ts';
import { validationFailed } from '../../support/shapes.ts';
import { forSuite } from '../../support/suite.ts';
import { startLater } from '../../support/world.ts';
import { at, issuesOf, record, remove } from '../entities/support.ts';
import { defineEntity, readJob } from '../workflow/support.ts';
import {
  act,
  BROWSER,
  draft,
  expectSafe,
  publicForm,
  publicPath,
  published,
  recordsOf,
  send,
  sendForm,
  submissionsIn,
  submitted,
  VALUES,
  withClaims,
} from './support.ts';

/** Decisions, section 6, Form: the public view and submissions. */
describe('Public forms', () => {
  const here = forSuite(withClaims);

  const count = async (admin = here().tenant.admin): Promise<number> =>
    (await recordsOf(admin, here().claim.entity_name)).length;

  it('are shown with exactly what a client needs to render them', async () => {
    const { world, tenant, claim, path } = here();
    for (const at of [path, `/api/v1${path}`]) {
      const answer = await world.anybody.get(at);
      expect(answer.as(publicForm)).to.deep.equal({
        tenant: tenant.id,
        slug: claim.slug,
        title: 'Report',
        fields: [
          { field_key: 'name', label: 'Name', required: true, type: 'text', max_length: 20 },
          { field_key: 'amount', label: 'How many?', required: false, type: 'integer', min: 1, max: 100 },
          { field_key: 'price', label: 'price', required: false, type: 'decimal' },
          { field_key: 'kind', label: 'kind', required: false, type: 'enum', options: ['water', 'fire'] },
          { field_key: 'mail', label: 'mail', required: true, type: 'text' },
        ],
      });
      expect(answer.header('cache-control')).to.equal('no-store');
      expect(answer.header('referrer-policy')).to.equal('no-referrer');
      expect(answer.header('x-content-type-options')).to.equal('nosniff');
    }
  });

  it('create records, visible at once', async () => {
    const { world, tenant, claim, path } = here();
    const answer = await send(world.anybody, path, { ...VALUES, amount: 3, price: '2.50' });
    const { submission_id } = answer.as(submitted, 201);
    expect(submission_id).to.match(/^[A-Za-z0-9_-]{1,64}$/);
    const [made] = await recordsOf(tenant.admin, claim.entity_name);
    expect(made).to.deep.include({
      values: { ...VALUES, amount: 3, price: '2.50', kind: 'water', secret: 'not for strangers' },
      created_by: `form:${claim.id}`,
      state: null,
      version: 1,
    });
  });

  it('are announced once, with form, submission, record and values', async () => {
    const { world, tenant, claim, path } = here();
    const submission_id = randomUUID();
    await Promise.all([
      send(world.anybody, path, VALUES, submission_id),
      send(world.anybody, path, VALUES, submission_id),
    ]);
    await send(world.anybody, path, VALUES, submission_id);
    const [made] = await recordsOf(tenant.admin, claim.entity_name);
    const events = submissionsIn(world.server, tenant.id).filter(
      ({ data }) => data.submission_id === submission_id,
    );
    expect(events.map(({ data }) => data)).to.deep.equal([
      {
        form_id: claim.id,
        submission_id,
        entity_name: claim.entity_name,
        entity_id: made?.id,
        values: { ...VALUES, kind: 'water', secret: 'not for strangers' },
      },
    ]);
    expect(events[0]?.actor).to.deep.equal({ kind: 'public', id: `form:${claim.id}` });
  });

  it('have a line in the tenant’s event log, without a person', async () => {
    const { world, tenant, claim, path } = here();
    await send(world.anybody, path, VALUES, 'in-the-log');
    const [line] = await wholeLog(tenant.admin.api);
    expect(line).to.deep.include({
      action: 'form_submitted',
      actor: { kind: 'public', id: `form:${claim.id}`, email: '' },
    });
  });

  describe('create one submission per submission_id', () => {
    it('for twenty concurrent requests, also with other values', async () => {
      const { world, path } = here();
      const before = await count();
      const submission_id = 'twenty-at-once_1';
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          send(world.anybody, path, { ...VALUES, name: `Bob ${i}` }, submission_id),
        ),
      );
      for (const answer of answers) expect(answer.as(submitted, 201)).to.deep.equal({ submission_id });
      expect(await count()).to.equal(before + 1);
    });

    it('for a repetition with other or invalid values, or after the record’s deletion', async () => {
      const { world, tenant, claim, path } = here();
      const submission_id = randomUUID();
      await send(world.anybody, path, VALUES, submission_id);
      const [made] = await recordsOf(tenant.admin, claim.entity_name);
      if (made === undefined) throw new Error('no record');
      for (const values of [{ ...VALUES, name: 'Eve' }, {}, { nope: 1 }]) {
        const again = await send(world.anybody, path, values, submission_id);
        expect(again.as(submitted, 201)).to.deep.equal({ submission_id });
      }
      expect((await tenant.admin.api.get(at(claim.entity_name, made.id))).as(record)).to.deep.equal(made);
      await remove(tenant.admin, made);
      const before = await count();
      expect((await send(world.anybody, path, VALUES, submission_id)).status).to.equal(201);
      expect(await count()).to.equal(before);
    });

    it('and form: another form has its own', async () => {
      const { world, tenant, path } = here();
      const other = await published(tenant, [{ key: 'name', type: 'text' }]);
      const submission_id = randomUUID();
      await send(world.anybody, path, VALUES, submission_id);
      await send(world.anybody, publicPath(tenant, other), { name: 'Other' }, submission_id);
      expect(await recordsOf(tenant.admin, other.entity_name)).to.have.length(1);
    });

    it('after a refusal, when it is corrected', async () => {
      const { world, path } = here();
      const submission_id = randomUUID();
      expect((await send(world.anybody, path, {}, submission_id)).status).to.equal(400);
      expect((await send(world.anybody, path, VALUES, submission_id)).status).to.equal(201);
    });

    for (const wrong of ['', 'a b', 'a/b', 'ä', 'x'.repeat(65), 'abc\n', 7, {}]) {
      it(`and none for ${JSON.stringify(wrong).slice(0, 20)}`, async () => {
        const { world, path } = here();
        const before = await count();
        const body = { values: VALUES, submission_id: wrong };
        const answer = await world.anybody.post(`${path}/submissions`, body);
        expect(answer.as(validationFailed, 400).details.field).to.equal('submission_id');
        // Issues of the values are reported too. A missing form is reported only after these checks.
        const both = await world.anybody.post(`${path}/submissions`, { ...body, values: { amount: 'x' } });
        expect([both.status, ...issuesOf(both.json)]).to.deep.equal([
          400,
          'submission_id invalid_format',
          'values.amount type_mismatch',
          'values.mail missing_required',
          'values.name missing_required',
        ]);
        const nowhere = await world.anybody.post(`${path}-x/submissions`, body);
        expect(nowhere.as(validationFailed, 400).details.field).to.equal('submission_id');
        expect(await count()).to.equal(before);
      });
    }
  });

  for (const [what, values, status, issues] of [
    ['nothing', {}, 400, ['values.mail missing_required', 'values.name missing_required']],
    [
      'null and an empty text',
      { name: null, mail: '' },
      400,
      ['values.mail missing_required', 'values.name missing_required'],
    ],
    [
      'all kinds of wrong values at once',
      { name: 7, amount: 1.5, price: 2.5, kind: 'earth', nope: 1, secret: 'mine' },
      400,
      [
        'values.amount type_mismatch',
        'values.kind unknown_enum',
        'values.mail missing_required',
        'values.name type_mismatch',
        'values.nope unknown_field',
        'values.price type_mismatch',
        'values.secret unknown_field',
      ],
    ],
    [
      'a field of the entity that the form lacks',
      { ...VALUES, secret: 'mine' },
      400,
      ['values.secret unknown_field'],
    ],
    [
      'names of Object',
      { ...VALUES, constructor: 1, toString: 2 },
      400,
      ['values.constructor unknown_field', 'values.toString unknown_field'],
    ],
    [
      'too long a text and too large a number',
      { ...VALUES, name: 'x'.repeat(21), amount: 101 },
      422,
      ['values.amount max', 'values.name max_length'],
    ],
  ] as const) {
    it(`are refused with ${what}`, async () => {
      const { world, path } = here();
      const before = await count();
      const answer = await send(world.anybody, path, values);
      expect([answer.status, answer.error]).to.deep.equal([
        status,
        status === 400 ? 'validation_failed' : 'constraint_violated',
      ]);
      expect(issuesOf(answer.json)).to.deep.equal(issues);
      expect(await count()).to.equal(before);
    });
  }

  it('refuse __proto__ as an unknown field', async () => {
    const { world, path } = here();
    const raw = `{"values":{"name":"Bob","mail":"x","__proto__":{"amount":5}}}`;
    const answer = await world.anybody.post(`${path}/submissions`, undefined, { raw });
    expect(issuesOf(answer.json)).to.deep.equal(['values.__proto__ unknown_field']);
  });

  for (const [what, body, status] of [
    ['no values', {}, 400],
    ['values that are a list', { values: [] }, 400],
    ['values that are a text', { values: 'x' }, 400],
  ] as const) {
    it(`are refused with ${what}`, async () => {
      const { world, path } = here();
      const answer = await world.anybody.post(`${path}/submissions`, body);
      expect([answer.status, answer.error]).to.deep.equal([status, 'validation_failed']);
    });
  }

  it('are refused for invalid JSON, size and type', async () => {
    const { world, path } = here();
    const post = (raw: string, type: string) =>
      world.anybody.post(`${path}/submissions`, undefined, { raw, headers: { 'content-type': type } });
    expect((await post('{', 'application/json')).error).to.equal('malformed_json');
    expect((await post('{}', 'text/plain')).error).to.equal('unsupported_media_type');
    const large = JSON.stringify({ values: { ...VALUES, name: 'x'.repeat(1_048_576) } });
    expect((await post(large, 'application/json')).status).to.equal(413);
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
    const answer = await send(world.anybody, path, many);
    expect(answer.status).to.equal(400);
    expect(answer.text.length).to.be.lessThan(20_000);
    const long = await send(world.anybody, path, { ['k'.repeat(100_000)]: 1 });
    expect(long.text.length).to.be.lessThan(2_000);
  });

  it('larger than a record are refused whole, before anything is written', async () => {
    const { world, tenant } = here();
    const keys = ['a', 'b', 'c', 'd', 'e'];
    const wide = await published(
      tenant,
      keys.map((key) => ({ key, type: 'long_text' })),
    );
    const values = Object.fromEntries(keys.map((key) => [key, 'x'.repeat(99_000)]));
    const answer = await send(world.anybody, publicPath(tenant, wide), values, 'large');
    expect([answer.status, answer.error]).to.deep.equal([413, 'payload_too_large']);
    expect(await recordsOf(tenant.admin, wide.entity_name)).to.deep.equal([]);
    const less = { ...values, d: '', e: '' };
    expect((await send(world.anybody, publicPath(tenant, wide), less, 'large')).status).to.equal(201);
  });

  it('start the job of an entity with a workflow', async () => {
    const { world, tenant } = here();
    const entity_name = 'ticket';
    await defineEntity(tenant, entity_name);
    const made = await draft(tenant.admin, { entity_name, fields: [{ field_key: 'title' }] });
    await act(tenant.admin, made.id, 'publish');
    await send(world.anybody, publicPath(tenant, made), { title: 'By a stranger' });
    const [one] = await recordsOf(tenant.admin, entity_name);
    expect(one).to.deep.include({ state: 'draft', job_id: one?.id });
    expect(await readJob(tenant.admin, one?.id ?? '')).to.deep.include({ state: 'draft', entity_name });
  });

  it('need no credential, and ignore one', async () => {
    const { world, tenant, claim, path } = here();
    const answer = await send(world.anybody.with('no token at all'), path, VALUES);
    expect(answer.status).to.equal(201);
    const [made] = await recordsOf(tenant.admin, claim.entity_name);
    await send(tenant.admin.api, path, { ...VALUES, name: 'Admin' });
    const [latest] = await recordsOf(tenant.admin, claim.entity_name);
    expect([made?.created_by, latest?.created_by]).to.deep.equal([`form:${claim.id}`, `form:${claim.id}`]);
  });

  describe('with the rate limit', () => {
    it('are accepted 30 times a minute from one address', async () => {
      const { world, tenant, path } = here();
      const limited = await startLater(world, { RATE_LIMIT_PER_MINUTE: '600' });
      const anybody = world.anybody.at(limited);
      const admin = { ...tenant.admin, api: tenant.admin.api.at(limited) };
      const before = await count(admin);
      const answers: Answer[] = [];
      const began = performance.now();
      for (let i = 0; i < 40; i += 1) answers.push(await send(anybody, path, VALUES));
      const refilled = Math.ceil((performance.now() - began) / 2000);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).to.be.within(Math.max(0, 10 - refilled), 10);
      for (const answer of refused) {
        expect(answer.error).to.equal('rate_limited');
        expect(Number(answer.header('retry-after'))).to.be.greaterThan(0);
      }
      expect(await count(admin)).to.equal(before + 40 - refused.length);
      // One more is accepted every two seconds.
      const refusalOf = <T extends { readonly status: number }>(submit: () => Promise<T>): Promise<T> =>
        eventually('a refusal', async () => {
          const answer = await submit();
          return answer.status === 429 && answer;
        });
      const typed = await refusalOf(() => sendForm(limited, `${path}/submissions`, VALUES));
      const asked = await refusalOf(() =>
        fetch(`${limited.base}${path}/submissions`, {
          method: 'POST',
          headers: { accept: BROWSER, 'content-type': 'application/json' },
          body: JSON.stringify({ values: VALUES }),
        }),
      );
      for (const [response, page] of [
        [typed, typed.page],
        [asked, await asked.text()],
      ] as const) {
        expect(response.status).to.equal(429);
        expect(response.headers.get('content-type')).to.equal('text/html; charset=utf-8');
        expect(response.headers.get('content-security-policy')).to.contain("default-src 'none'");
        const wait = Number(response.headers.get('retry-after'));
        expect(wait).to.be.greaterThan(0);
        expect(page).to.contain(`try again in ${wait} second`).and.to.contain('Nothing is lost');
        expectSafe(page);
      }
      // Reading a form has no rate limit.
      expect((await anybody.get(path)).status).to.equal(200);
    });
  });
});
