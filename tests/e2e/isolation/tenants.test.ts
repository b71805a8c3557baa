import { expect } from 'chai';
import { z } from 'zod';
import type { Answer, Client } from '../../support/client.ts';
import { API_TOKENS, activeExtension, EXTENSIONS, mintToken } from '../../support/delegation.ts';
import { routesOf } from '../../support/openapi-validator.ts';
import { eventually } from '../../support/server.ts';
import { notifications } from '../../support/shapes.ts';
import { tenantToken } from '../../support/tokens.ts';
import { allMessages } from '../../support/unread-model.ts';
import { filesOf, uploaded } from '../../support/uploads.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  say,
  startWorld,
  type TestTenant,
  talk,
  token,
  USERS,
  type World,
} from '../../support/world.ts';
import { BACKFILL, MODEL } from '../assistant/support.ts';
import { DELETE, preview, SESSIONS } from '../bulk/support.ts';
import { draft as draftForm, FORMS } from '../forms/support.ts';
import { FAILURES, failuresOf, makeRule, RULES } from '../ledger/rules-support.ts';
import { ACCOUNTS, drafted, ENTRIES, entitle, posted } from '../ledger/support.ts';
import { OPEN, ofStatus, subscribe, test, WEBHOOKS } from '../webhooks/support.ts';
import { defineEntity, ENTITIES, JOBS, startJob, WORKFLOWS } from '../workflow/support.ts';
import { ATTACKS, type Attack, type Call, nothing, OUTSIDE, type Things } from './routes.ts';

/** Routes whose answers follow the tenant's own records with a delay. */
const FOLLOWING: ReadonlySet<string> = new Set([
  'POST /api/v1/tenant/ai/assistant/ask',
  'POST /api/v1/tenant/rag/backfill',
]);

/**
 * The specification's second rule: another tenant's resource is answered like an unknown one, byte for byte, on every
 * route of the document.
 */
describe('Isolation of tenants', () => {
  let world: World;
  let a: TestTenant;
  let b: TestTenant;
  let theirs: Things;
  let own: Things;
  let routes: readonly string[];

  const fill = async (tenant: TestTenant): Promise<Things> => {
    const [one, two] = [await tenant.person('One'), await tenant.person('Two')];
    const conversation = await talk(tenant.admin, one, two);
    const sent = await say(one, conversation, `secret of ${tenant.id} ${token(tenant.admin)}`);
    const found = await eventually('the notification', async () => {
      const list = (await tenant.admin.api.get(NOTIFICATIONS)).as(notifications);
      return list.find((each) => each.note_id === sent.id);
    });
    const next = (await tenant.admin.api.get(`${USERS}?limit=1`)).header('link');
    const cursor = /cursor=([^>&]+)/.exec(next ?? '')?.[1] ?? 'none';
    const extension = `of-${tenant.id}`;
    await activeExtension(tenant.admin.api, extension);
    const { id: apiToken } = await mintToken(tenant.admin.api);
    const entity = `of_${tenant.id}`;
    await defineEntity(tenant, entity);
    const job = await startJob(tenant.admin, entity, { title: `secret of ${tenant.id}` });
    const notes = `${ENTITIES}/${entity}/records/${job}/notes`;
    await tenant.admin.api.post(notes, { body: `secret of ${tenant.id}` });
    const made = await tenant.admin.api.post(`${JOBS}/${job}/links`, { page_slug: 'status' });
    const link = made.as(z.looseObject({ id: z.string() }), 201).id;
    const { id: file } = await uploaded(tenant.admin.api, { entity, id: job }, `secret of ${tenant.id}`);
    const title = `secret of ${tenant.id}`;
    const form = await draftForm(tenant.admin, {
      title,
      entity_name: entity,
      fields: [{ field_key: 'title' }],
    });
    await entitle(world, tenant);
    const account = `of_${tenant.id}`;
    await tenant.admin.api.post(ACCOUNTS, { code: account, name: `secret of ${tenant.id}`, type: 'Asset' });
    const lines = [
      { account_code: account, debit: 5 },
      { account_code: account, credit: 5 },
    ];
    const { id: entry } = await posted(tenant.admin.api, { memo: `secret of ${tenant.id}`, lines });
    const { id: draft } = await drafted(tenant.admin.api, { memo: `secret of ${tenant.id}`, lines });
    const rule = await makeRule(tenant.admin.api, {
      name: `secret of ${tenant.id}`,
      lines: [
        { account_code: account, side: 'debit', amount: { path: 'values.nothing' } },
        { account_code: account, side: 'credit', amount: { remainder: true } },
      ],
    });
    await startJob(tenant.admin, entity);
    const [failure] = await failuresOf(tenant.admin.api, rule, 1);
    await tenant.admin.api.patch(`${RULES}/${rule.id}`, { active: false });
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'enterprise' });
    // Puts everything created so far into the corpus.
    await tenant.admin.api.post(BACKFILL);
    const receiver = await startReceiver();
    const { id: webhook } = await subscribe(tenant.admin, receiver.url, {
      description: `secret of ${tenant.id}`,
    });
    const delivery = await test(tenant.admin, webhook);
    await ofStatus(tenant.admin, webhook, 'delivered', 1);
    const bulkSession = (await preview(tenant.admin, entity, DELETE, [job])).id;
    const things = {
      webhook,
      delivery,
      account,
      entry,
      draft,
      postingRule: rule.id,
      postingFailure: failure?.id ?? '',
      entity,
      workflow: `${entity}_flow`,
      job,
      link,
      file,
      form: form.id,
      bulkSession,
      conversation,
      apiToken,
      extension,
      message: sent.id,
      notification: found.id,
      user: one.id,
      tenant: tenant.id,
    };
    return { ...things, cursor };
  };

  before(async function () {
    this.timeout(60_000);
    world = await startWorld({ env: { ...OPEN, ...MODEL } });
    [a, b] = [await world.tenant(), await world.tenant()];
    [theirs, own] = [await fill(a), await fill(b)];
    routes = routesOf((await world.anybody.get('/openapi.json')).json).filter(
      (route) => !OUTSIDE.test(route),
    );
  });
  after(async () => {
    await closeReceivers();
    await endWorld();
  });

  it('has a case for every tenant route of the document, and no other case', () => {
    expect(Object.keys(ATTACKS).sort()).to.deep.equal([...routes].sort());
  });

  const send = (api: Client, { method, path, body, options }: Call): Promise<Answer> =>
    api.request(method, path, body, options);

  /** The answer without parts that identify the request or its time. */
  const visible = (answer: Answer) => ({
    status: answer.status,
    text: answer.text,
    headers: [...answer.headers]
      .filter(([name]) => !['x-request-id', 'date', 'x-event-position', 'keep-alive'].includes(name))
      .map(([name, value]) => `${name}: ${value}`),
  });

  /** Replaces the given ids, which a Link header repeats from the request's own path. */
  const neutral = (seen: ReturnType<typeof visible>, things: Things): string =>
    Object.values(things).reduce((text, id) => text.replaceAll(id, '<id>'), JSON.stringify(seen));

  const bothOf = async ({ api }: Member, call: Call, expected: Call, unknown: Things) => {
    const answer = await send(api, call);
    const got = neutral(visible(answer), theirs);
    return { answer, got, wanted: neutral(visible(await send(api, expected)), unknown) };
  };

  /** Repeats both calls until B's corpus stands still: it follows earlier attacks with a delay. */
  const atRest = (caller: Member, call: Call, expected: Call, unknown: Things) =>
    eventually('a corpus that stands still', async () => {
      const before = neutral(visible(await send(caller.api, expected)), unknown);
      const both = await bothOf(caller, call, expected, unknown);
      return both.wanted === before && both;
    });

  const expectEqualAnswers = async (route: string, attack: Attack): Promise<void> => {
    for (const caller of [b.admin, await b.person('Caller')]) {
      const unknown = nothing(theirs.cursor);
      const real = attack(theirs, own, caller);
      const fake = attack(unknown, own, caller);
      for (const [i, call] of real.entries()) {
        const expected = fake[i];
        if (expected === undefined) throw new Error('the attack depends on what it is given');
        const { answer, got, wanted } = FOLLOWING.has(route)
          ? await atRest(caller, call, expected, unknown)
          : await bothOf(caller, call, expected, unknown);
        expect(got, `${call.method} ${call.path} ${JSON.stringify(call.body)}`).to.equal(wanted);
        expect(answer.text).not.to.contain(`secret of ${a.id}`).and.not.to.contain(a.admin.email);
      }
    }
  };
  const attacks = (kind: 'reads' | 'writes') =>
    Object.entries(ATTACKS).filter(([route]) => route.startsWith('GET ') === (kind === 'reads'));

  describe('in reads', () => {
    let untouched: unknown;
    before(async () => {
      untouched = await snapshot();
    });

    for (const [route, attack] of attacks('reads')) {
      it(`answers ${route} with A's ids as with unknown ones`, () => expectEqualAnswers(route, attack));
    }

    it('changes no data of A', async () => {
      expect(await snapshot(), 'tenant A').to.deep.equal(untouched);
    });
  });

  describe('in writes', () => {
    /** A's data after an attack that passed, with which the next test begins; undefined after a failure. */
    let latest: unknown;

    for (const [route, attack] of attacks('writes')) {
      it(`answers ${route} with A's ids as with unknown ones`, async () => {
        const before = latest ?? (await snapshot());
        latest = undefined;
        await expectEqualAnswers(route, attack);
        const after = await snapshot();
        expect(after, 'tenant A').to.deep.equal(before);
        latest = after;
      });
    }
  });

  /** Lists and resources that A's admin sees, which no attack may change. */
  const snapshot = async (): Promise<unknown> => {
    const paths = [
      BASE,
      `${BASE}/${theirs.conversation}/messages`,
      WEBHOOKS,
      `${WEBHOOKS}/${theirs.webhook}/deliveries`,
      NOTIFICATIONS,
      `${NOTIFICATIONS}/unread-count`,
      USERS,
      API_TOKENS,
      EXTENSIONS,
      WORKFLOWS,
      ENTITIES,
      JOBS,
      `${JOBS}/${theirs.job}`,
      `${JOBS}/${theirs.job}/links`,
      filesOf({ entity: theirs.entity, id: theirs.job }),
      FORMS,
      `${FORMS}/${theirs.form}`,
      ACCOUNTS,
      ENTRIES,
      RULES,
      FAILURES,
      `${SESSIONS}/${theirs.bulkSession}`,
      `${ENTITIES}/${theirs.entity}/records?limit=200`,
      `${ENTITIES}/${theirs.entity}/records/${theirs.job}/notes`,
    ];
    return Promise.all(paths.map(async (path) => (await a.admin.api.get(path)).text));
  };

  it('separates equal user ids of two tenants', async () => {
    const [first, second] = [await world.tenant(), await world.tenant()];
    const twin = async (tenant: TestTenant): Promise<Member> => {
      const person = { ...tenant.admin, id: 'the-same-id', email: 'same@people.example' };
      const minted = tenantToken(person);
      const api = world.anybody.with(minted);
      expect((await api.get('/api/v1/tenant/me')).status).to.equal(200);
      return { ...person, token: minted, api };
    };
    const [one, other] = [await twin(first), await twin(second)];
    const room = await talk(one, first.admin);
    await say(first.admin, room, `hello ${token(one)}`);
    await eventually('the notification', async () => {
      return (await one.api.get(NOTIFICATIONS)).as(notifications).length === 1;
    });
    expect((await other.api.get(NOTIFICATIONS)).json).to.deep.equal([]);
    expect((await other.api.get(BASE)).json).to.deep.equal([]);
    expect((await other.api.get(`${BASE}/${room}/messages`)).status).to.equal(404);
    await first.admin.api.patch(`${USERS}/the-same-id`, { status: 'deactivated' });
    expect((await one.api.get(BASE)).status).to.equal(401);
    expect((await other.api.get(BASE)).status).to.equal(200);
    expect(await allMessages(first.admin, room)).to.have.length(1);
  });
});
