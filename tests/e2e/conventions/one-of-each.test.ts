import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { API_TOKENS, mintToken } from '../../support/delegation.ts';
import { forSuite } from '../../support/suite.ts';
import { FILES, filesOf, uploaded } from '../../support/uploads.ts';
import { BASE, say, sharedWorld, talk, USERS } from '../../support/world.ts';
import { create, define } from '../entities/support.ts';
import { makeRule, RULES } from '../ledger/rules-support.ts';
import { ACCOUNTS, entitle } from '../ledger/support.ts';

const list = z.array(z.looseObject({}));

/** Each resource that is listed can be read by its id, with the same content. */
describe('One resource', () => {
  const here = forSuite(async () => {
    const world = await sharedWorld();
    const tenant = await world.tenant();
    await entitle(world, tenant);
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    return { world, tenant, ada, ben };
  });

  it('is read as the list shows it: user, token, account, rule, file and conversation', async () => {
    const { tenant, ada, ben } = here();
    const { api } = tenant.admin;
    const entity = await define(tenant.admin, { key: 'title', type: 'text' });
    const record = { entity, id: (await create(tenant.admin, entity, { title: 'x' })).id };
    const file = await uploaded(api, record, 'bytes');
    const token = await mintToken(api);
    (await api.post(ACCOUNTS, { code: 'Cash-1', name: 'Cash', type: 'Asset', category: 'liquid' })).as(
      z.looseObject({ code: z.literal('Cash-1') }),
      201,
    );
    const line = (side: string, amount: object) => ({ account_code: 'Cash-1', side, amount });
    const rule = await makeRule(api, {
      lines: [line('debit', { path: 'values.sum' }), line('credit', { remainder: true })],
    });
    const conversation = await talk(ada, ben);
    await say(ben, conversation, 'hello');
    for (const [who, base, key, id] of [
      [tenant.admin, USERS, 'id', ben.id],
      [tenant.admin, API_TOKENS, 'id', token.id],
      [tenant.admin, ACCOUNTS, 'code', 'Cash-1'],
      [tenant.admin, RULES, 'id', rule.id],
      [ada, BASE, 'id', conversation],
    ] as const) {
      const listed = (await who.api.get(base)).as(list).find((one) => one[key] === id);
      const one = await who.api.get(`${base}/${id}`);
      expect([one.status, one.json], base).to.deep.equal([200, listed]);
    }
    const [listed] = (await api.get(filesOf(record))).as(list);
    expect((await api.get(`${FILES}/${file.id}`)).json).to.deep.equal(listed);
    expect((await api.get(`${ACCOUNTS}/CASH-1`)).json).to.include({ code: 'Cash-1' });
  });

  it('is shown without secrets for a token, and can be read for a deactivated person', async () => {
    const { tenant, ben } = here();
    const { id, token } = await mintToken(tenant.admin.api);
    const shown = (await tenant.admin.api.get(`${API_TOKENS}/${id}`)).text;
    expect(shown).not.to.contain(token.slice(20)).and.not.to.contain('hash');
    await tenant.admin.api.patch(`${USERS}/${ben.id}`, { status: 'deactivated' });
    expect((await tenant.admin.api.get(`${USERS}/${ben.id}`)).json).to.include({ status: 'deactivated' });
  });

  it('is 404 under an unknown or malformed id, and 403 for a conversation of others', async () => {
    const { tenant, ada } = here();
    for (const base of [USERS, API_TOKENS, ACCOUNTS, RULES, FILES, BASE]) {
      for (const id of [randomUUID(), 'x'.repeat(40), '%00', '__proto__', 'constructor', '%F0%9F%98%80']) {
        const answer = await tenant.admin.api.get(`${base}/${id}`);
        expect([answer.status, answer.error], `${base}/${id}`).to.deep.equal([404, 'not_found']);
      }
    }
    const theirs = await talk(tenant.admin, ada);
    const eve = await tenant.person('Eve');
    const answer = await eve.api.get(`${BASE}/${theirs}`);
    expect([answer.status, answer.error]).to.deep.equal([403, 'not_a_participant']);
  });
});
