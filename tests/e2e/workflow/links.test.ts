import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import type { Answer } from '../../support/client.ts';
import { untilPasses } from '../../support/eventually.ts';
import { randomName, type Server } from '../../support/server.ts';
import { tenant as tenantShape, uuid, validationFailed } from '../../support/shapes.ts';
import {
  endWorld,
  type Member,
  sharedWorld,
  startLater,
  type TestTenant,
  type World,
} from '../../support/world.ts';
import { defineEntity, JOBS, startJob } from './support.ts';

const instant = z.iso.datetime({ precision: 3 });
const made = z.strictObject({
  id: uuid,
  token: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  url: z.string(),
  expires_at: instant,
});
const listed = z.array(
  z.strictObject({
    id: uuid,
    page_slug: z.string(),
    expires_at: instant,
    revoked_at: instant.nullable(),
    created_at: instant,
    created_by: z.strictObject({ kind: z.string(), id: z.string() }),
  }),
);
const target = z.strictObject({
  job_id: uuid,
  entity_id: uuid,
  page_slug: z.string(),
  expires_at: instant,
});

const DAY = 86_400_000;

/** Specification, Access tokens; decisions, section 6, Public link. */
describe('Public links', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let id: string;

  before(async () => {
    world = await sharedWorld({ LOG_LEVEL: 'trace' });
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    await defineEntity(tenant, 'parcel');
    id = await startJob(ada, 'parcel');
  });
  after(endWorld);

  const make = async (own: Record<string, unknown> = {}, job = id) =>
    (await ada.api.post(`${JOBS}/${job}/links`, { page_slug: 'status', ...own })).as(made, 201);
  const validate = (token: string, api = world.anybody): Promise<Answer> =>
    api.get(`/public/validate/${token}`);
  const links = async (query = '') => (await ada.api.get(`${JOBS}/${id}/links${query}`)).as(listed);
  const revoke = (link: string, job = id) => ada.api.delete(`${JOBS}/${job}/links/${link}`);

  it('give access to exactly their job, entity and page, without a credential', async () => {
    const { token, url, expires_at } = await make();
    expect(url).to.equal(`/public/validate/${token}`);
    for (const path of [url, `/api/v1${url}`]) {
      const answer = await world.anybody.get(path);
      expect(answer.as(target)).to.deep.equal({ job_id: id, entity_id: id, page_slug: 'status', expires_at });
      expect(answer.header('referrer-policy')).to.equal('no-referrer');
      expect(answer.header('cache-control')).to.equal('no-store');
    }
  });

  for (const [given, days] of [
    [undefined, 30],
    ['1d', 1],
    ['7d', 7],
    ['30d', 30],
    ['90d', 90],
  ] as const) {
    it(`live ${days} days for expires_in ${given}`, async () => {
      const before = Date.now();
      const { expires_at } = await make({ expires_in: given });
      const lifetime = Date.parse(expires_at) - days * DAY;
      expect(lifetime).to.be.within(before - 1000, Date.now() + 1000);
    });
  }

  for (const [what, own, field] of [
    ['a missing slug', { page_slug: undefined }, 'page_slug'],
    ['an empty slug', { page_slug: '' }, 'page_slug'],
    ['a slug with a slash', { page_slug: 'a/b' }, 'page_slug'],
    ['a slug with capitals', { page_slug: 'Status' }, 'page_slug'],
    ['another lifetime', { expires_in: '2d' }, 'expires_in'],
    ['a lifetime without end', { expires_in: 'never' }, 'expires_in'],
  ] as const) {
    it(`are not made with ${what}`, async () => {
      const answer = await ada.api.post(`${JOBS}/${id}/links`, { page_slug: 'status', ...own });
      expect(answer.as(validationFailed, 400).details.field).to.equal(field);
    });
  }

  it('are listed without their tokens, newest first, and revoked at once', async () => {
    const [first, second] = [await make({ page_slug: 'one' }), await make({ page_slug: 'two' })];
    const list = await ada.api.get(`${JOBS}/${id}/links`);
    expect(list.text).not.to.contain(first.token).and.not.to.contain(second.token);
    expect(
      list
        .as(listed)
        .slice(0, 2)
        .map((link) => link.id),
    ).to.deep.equal([second.id, first.id]);
    expect(list.as(listed)[0]).to.deep.include({
      page_slug: 'two',
      revoked_at: null,
      expires_at: second.expires_at,
      created_by: { kind: 'user', id: ada.id },
    });
    expect((await revoke(first.id)).status).to.equal(204);
    expect((await validate(first.token)).status).to.equal(404);
    expect((await validate(second.token)).status).to.equal(200);
    const [, gone] = await links();
    expect(gone?.revoked_at).to.be.a('string');
    expect((await revoke(first.id)).status).to.equal(204);
    expect((await links())[1]).to.deep.equal(gone);
  });

  it('are refused with the same bytes: unknown, revoked, of a deleted record, of a suspended tenant', async () => {
    const strip = (answer: Answer) => ({
      status: answer.status,
      text: answer.text,
      headers: [...answer.headers].filter(([name]) => !['x-request-id', 'date'].includes(name)),
    });
    const unknown = strip(await validate('x'.repeat(43)));
    expect([unknown.status, JSON.parse(unknown.text).error]).to.deep.equal([404, 'not_found']);
    expect(strip(await validate('x'))).to.deep.equal(unknown);
    expect(strip(await validate('x'.repeat(5000)))).to.deep.equal(unknown);
    expect(strip(await validate('%ff'))).to.deep.equal(unknown);

    const revoked = await make();
    await revoke(revoked.id);
    expect(strip(await validate(revoked.token))).to.deep.equal(unknown);

    const gone = await startJob(ada, 'parcel');
    const orphan = await make({}, gone);
    expect((await validate(orphan.token)).status).to.equal(200);
    await ada.api.delete(`/api/v1/tenant/entities/parcel/records/${gone}`);
    expect(strip(await validate(orphan.token))).to.deep.equal(unknown);

    const good = await make();
    const setStatus = async (status: string) =>
      (await world.platform.patch(`/super/tenants/${tenant.id}`, { status })).as(tenantShape);
    await setStatus('suspended');
    expect(strip(await validate(good.token))).to.deep.equal(unknown);
    await setStatus('active');
    expect((await validate(good.token)).status).to.equal(200);
  });

  it('belong to one job of one tenant', async () => {
    const link = await make();
    const elsewhere = await startJob(ada, 'parcel');
    for (const answer of [
      await revoke(link.id, elsewhere),
      await revoke(link.id, randomUUID()),
      await revoke(randomUUID()),
      await revoke('nothing'),
      await ada.api.post(`${JOBS}/${randomUUID()}/links`, { page_slug: 'status' }),
      await ada.api.get(`${JOBS}/${randomUUID()}/links`),
      await (await world.tenant()).admin.api.delete(`${JOBS}/${id}/links/${link.id}`),
    ]) {
      expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
    }
    expect((await validate(link.token)).status).to.equal(200);
  });

  it('show their token once, and not to a repeated request', async () => {
    const headers = { 'idempotency-key': randomName('k') };
    const path = `${JOBS}/${id}/links`;
    const first = (await ada.api.post(path, { page_slug: 'status' }, { headers })).as(made, 201);
    const again = await ada.api.post(path, { page_slug: 'status' }, { headers });
    expect(again.status).to.equal(201);
    expect(again.json).to.deep.equal({ id: first.id, expires_at: first.expires_at });
  });

  it('store and log no token', async () => {
    const { token } = await make();
    // A request is logged after its answer, and not at all when many requests are logged in the same second.
    await untilPasses(async () => {
      await validate(token);
      await validate(`${token}x`);
      expect(world.server.output()).to.contain('/public/validate/:token');
    });
    expect(world.server.output()).not.to.contain(token);
  });

  describe('at a server that starts later and has rate limits', () => {
    let link: z.output<typeof made>;
    let later: Server;

    before(async () => {
      link = await make();
      later = await startLater(world, { RATE_LIMIT_PER_MINUTE: '600' });
    });

    it('of an operator survive a restart of the server', async () => {
      expect((await validate(link.token, world.anybody.at(later))).status).to.equal(200);
    });

    it('are limited to 30 tries a minute per address, valid or not', async () => {
      const answers: Answer[] = [];
      for (let i = 0; i < 40; i += 1) answers.push(await validate(`guess-${i}`, world.anybody.at(later)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).to.be.within(8, 12);
      expect(refused.every(({ error }) => error === 'rate_limited')).to.equal(true);
      // The limit does not apply to signed-in requests.
      expect((await ada.api.at(later).get(`${JOBS}/${id}/links`)).status).to.equal(200);
    });
  });
});
