import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { forSuite } from '../../support/suite.ts';
import {
  ACCOUNTS,
  drafted,
  ENTRIES,
  entry,
  move,
  olgaWithBooks,
  posted,
  read,
  refused,
  withBooks,
} from './support.ts';

describe('Ledger entries', () => {
  const here = forSuite(olgaWithBooks);

  describe('posting', () => {
    it('gives numbers without a gap, also after refusals', async () => {
      const { world } = here();
      const books = await withBooks(world);
      const { api } = books.admin;
      expect((await posted(api)).number).to.equal(1);
      const { id } = await drafted(api, {});
      await api.patch(`${ENTRIES}/${id}`, {
        lines: [...move('1000', '4000', 1), { account_code: '1000', debit: 1 }],
      });
      expect((await api.post(`${ENTRIES}/${id}/post`)).error).to.equal('unbalanced');
      expect((await posted(api)).number).to.equal(2);
      const done = await posted(api);
      expect(done).to.include({ number: 3, state: 'posted' });
      expect(Date.parse(done.posted_at ?? '')).to.be.at.least(Date.parse(done.created_at));
      expect(await read(api, done.id)).to.deep.equal(done);
    });

    it('freezes the names of accounts', async () => {
      const { admin } = here();
      await admin.api.post(ACCOUNTS, { code: 'N1', name: 'Before', type: 'Asset' });
      const waiting = await drafted(admin.api, { lines: move('N1', '4000', 1) });
      const { id } = await posted(admin.api, { lines: move('N1', '4000', 1) });
      await admin.api.patch(`${ACCOUNTS}/N1`, { name: 'After' });
      expect((await read(admin.api, id)).lines[0]?.account_name).to.equal('Before');
      expect((await read(admin.api, waiting.id)).lines[0]?.account_name).to.equal('After');
    });

    it('refuses an account deactivated since the draft', async () => {
      const { admin } = here();
      await admin.api.post(ACCOUNTS, { code: 'N2', name: 'Closing', type: 'Asset' });
      const { id } = await drafted(admin.api, { lines: move('N2', '4000', 1) });
      await admin.api.patch(`${ACCOUNTS}/N2`, { active: false });
      expect(refused(await admin.api.post(`${ENTRIES}/${id}/post`))).to.deep.include({
        status: 422,
        error: 'account_inactive',
      });
      await admin.api.patch(`${ACCOUNTS}/N2`, { active: true });
      expect((await admin.api.post(`${ENTRIES}/${id}/post`)).status).to.equal(200);
    });

    it('makes an entry immutable', async () => {
      const { admin } = here();
      const done = await posted(admin.api);
      for (const answer of [
        await admin.api.patch(`${ENTRIES}/${done.id}`, { memo: 'other' }),
        await admin.api.patch(`${ENTRIES}/${done.id}`, { lines: move('1000', 'no-such', 1) }),
        await admin.api.delete(`${ENTRIES}/${done.id}`),
        await admin.api.post(`${ENTRIES}/${done.id}/post`),
      ]) {
        expect(refused(answer)).to.deep.include({ status: 409, error: 'immutable' });
      }
      expect(await read(admin.api, done.id)).to.deep.equal(done);
    });

    it('succeeds for one of many concurrent callers', async () => {
      const { admin } = here();
      const { id } = await drafted(admin.api, {});
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => admin.api.post(`${ENTRIES}/${id}/post`)),
      );
      expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
      const lost = answers.filter(({ status }) => status !== 200).map(refused);
      expect(lost.every(({ status, error }) => status === 409 && error === 'immutable')).to.equal(true);
    });

    it('replays its answer for its Idempotency-Key, also after a reversal', async () => {
      const { admin } = here();
      const { id } = await drafted(admin.api, {});
      const key = { headers: { 'idempotency-key': randomUUID() } };
      const first = await admin.api.post(`${ENTRIES}/${id}/post`, undefined, key);
      expect((await admin.api.post(`${ENTRIES}/${id}/reverse`, {})).status).to.equal(201);
      const again = await admin.api.post(`${ENTRIES}/${id}/post`, undefined, key);
      expect(again.json).to.deep.equal(first.json);
      expect(again.header('idempotency-replayed')).to.equal('true');
      const body = { date: '2026-03-15', lines: move('1000', '4000', 1) };
      const made = { headers: { 'idempotency-key': randomUUID() } };
      expect((await admin.api.post(ENTRIES, body, made)).status).to.equal(201);
      const other = await admin.api.post(ENTRIES, { ...body, lines: move('1000', '4000', 2) }, made);
      expect(refused(other)).to.deep.include({ status: 422, error: 'idempotency_key_reused' });
    });
  });

  describe('reversing', () => {
    it('posts a mirror, and links both', async () => {
      const { admin } = here();
      const original = await posted(admin.api, {
        lines: [
          { account_code: '1000', debit: 60, memo: 'a' },
          { account_code: '1200', debit: 40 },
          { account_code: '4000', credit: 100 },
        ],
      });
      const mirror = (
        await admin.api.post(`${ENTRIES}/${original.id}/reverse`, { date: '2026-03-20', memo: 'a mistake' })
      ).as(entry, 201);
      expect(mirror).to.deep.include({
        state: 'posted',
        date: '2026-03-20',
        memo: 'a mistake',
        number: (original.number ?? 0) + 1,
        reversal_of: original.id,
        source: { kind: 'reversal', id: original.id },
        total_debit: 100,
        total_credit: 100,
      });
      expect(
        mirror.lines.map(({ account_code, debit, credit, memo }) => [account_code, debit, credit, memo]),
      ).to.deep.equal([
        ['1000', 0, 60, 'a'],
        ['1200', 0, 40, undefined],
        ['4000', 100, 0, undefined],
      ]);
      expect(await read(admin.api, mirror.id)).to.deep.equal(mirror);
      expect(await read(admin.api, original.id)).to.deep.equal({
        ...original,
        state: 'reversed',
        reversed_by: mirror.id,
      });
    });

    it('dates the mirror today, or at the original’s later date', async () => {
      const { admin } = here();
      const today = new Date().toISOString().slice(0, 10);
      const past = await posted(admin.api, { date: '2020-01-31' });
      const future = await posted(admin.api, { date: '2999-12-31' });
      const [one, two] = [
        (await admin.api.post(`${ENTRIES}/${past.id}/reverse`)).as(entry, 201),
        (await admin.api.post(`${ENTRIES}/${future.id}/reverse`, {})).as(entry, 201),
      ];
      expect([today, new Date().toISOString().slice(0, 10)]).to.include(one.date);
      expect(two.date).to.equal('2999-12-31');
    });

    it('refuses a day before the original’s', async () => {
      const { admin } = here();
      const { id } = await posted(admin.api, { date: '2026-03-15' });
      const answer = await admin.api.post(`${ENTRIES}/${id}/reverse`, { date: '2026-03-14' });
      expect(refused(answer)).to.deep.include({ status: 422, error: 'constraint_violated' });
      expect((await admin.api.post(`${ENTRIES}/${id}/reverse`, { date: 'tomorrow' })).status).to.equal(400);
      expect((await admin.api.post(`${ENTRIES}/${id}/reverse`, { date: '2026-03-15' })).status).to.equal(201);
    });

    it('refuses drafts, reversed entries and mirrors', async () => {
      const { admin } = here();
      const draftOnly = await drafted(admin.api, {});
      const original = await posted(admin.api);
      const mirror = (await admin.api.post(`${ENTRIES}/${original.id}/reverse`, {})).as(entry, 201);
      for (const id of [draftOnly.id, original.id, mirror.id]) {
        const answer = await admin.api.post(`${ENTRIES}/${id}/reverse`, {});
        expect(refused(answer)).to.deep.include({ status: 409, error: 'immutable' });
      }
      for (const id of [original.id, mirror.id]) {
        for (const answer of [
          await admin.api.post(`${ENTRIES}/${id}/post`),
          await admin.api.patch(`${ENTRIES}/${id}`, {}),
          await admin.api.delete(`${ENTRIES}/${id}`),
        ]) {
          expect(refused(answer)).to.deep.include({ status: 409, error: 'immutable' });
        }
      }
    });

    it('may be dated in the future', async () => {
      const { admin } = here();
      const { id } = await posted(admin.api);
      const mirror = (await admin.api.post(`${ENTRIES}/${id}/reverse`, { date: '2999-12-31' })).as(
        entry,
        201,
      );
      expect(mirror).to.include({ state: 'posted', date: '2999-12-31' });
    });

    it('may use inactive accounts', async () => {
      const { admin } = here();
      await admin.api.post(ACCOUNTS, { code: 'N3', name: 'Gone', type: 'Asset' });
      const { id } = await posted(admin.api, { lines: move('N3', '4000', 1) });
      await admin.api.patch(`${ACCOUNTS}/N3`, { active: false });
      expect((await admin.api.post(`${ENTRIES}/${id}/reverse`, {})).status).to.equal(201);
    });

    it('succeeds for one of many concurrent callers', async () => {
      const { admin } = here();
      const { id } = await posted(admin.api);
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => admin.api.post(`${ENTRIES}/${id}/reverse`, {})),
      );
      expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
      const lost = answers.filter(({ status }) => status !== 201).map(refused);
      expect(lost.every(({ status, error }) => status === 409 && error === 'immutable')).to.equal(true);
    });

    it('of a draft that is being posted is refused, or reverses the posted entry', async () => {
      const { admin } = here();
      for (let round = 0; round < 10; round += 1) {
        const { id } = await drafted(admin.api, {});
        const [post, change, reverse] = await Promise.all([
          admin.api.post(`${ENTRIES}/${id}/post`),
          admin.api.patch(`${ENTRIES}/${id}`, { memo: 'changed' }),
          admin.api.post(`${ENTRIES}/${id}/reverse`, {}),
        ]);
        expect(post.status).to.equal(200);
        const memo = post.as(entry).memo;
        expect(memo).to.equal(change.status === 200 ? 'changed' : '');
        expect([201, 409]).to.include(reverse.status);
        const now = await read(admin.api, id);
        expect(now.state).to.equal(reverse.status === 201 ? 'reversed' : 'posted');
        expect(now.memo).to.equal(memo);
      }
    });
  });
});
