import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { IdempotencyStore, StoredAnswer } from '../../application/ports/idempotency-store.ts';

export interface IdempotencyStoreHarness {
  /** Opens the same store again, like another process. */
  open(): Promise<IdempotencyStore>;
  dispose(): Promise<void>;
}

const answer = (status: number): StoredAnswer => ({
  fingerprint: 'ab'.repeat(32),
  status,
  headers: { location: '/x/1', 'x-event-position': '7' },
  body: '{"id":"1","text":"Grüße 😀"}',
});

const use = () => ({ fingerprint: 'ab'.repeat(32), nonce: randomUUID() });

/** The contract of every adapter of the idempotency store port (application/ports/idempotency-store.ts). */
export function idempotencyStoreContract(name: string, start: () => Promise<IdempotencyStoreHarness>): void {
  describe(`idempotency store contract: ${name}`, () => {
    let harness: IdempotencyStoreHarness;
    let store: IdempotencyStore;
    const later = Date.now() + 3_600_000;

    before(async () => {
      harness = await start();
      store = await harness.open();
    });
    after(async () => {
      await store?.close();
      await harness?.dispose();
    });

    it('returns the stored answer, also to another process', async () => {
      const key = randomUUID();
      expect(await store.get('acme/ann', key)).to.equal(undefined);
      await store.put('acme/ann', key, answer(201), later);
      await store.put('acme/ann', `${key}-empty`, { ...answer(204), body: null, headers: {} }, later);
      const other = await harness.open();
      expect(await other.get('acme/ann', key)).to.deep.equal(answer(201));
      expect(await other.get('acme/ann', `${key}-empty`)).to.deep.equal({
        ...answer(204),
        body: null,
        headers: {},
      });
      await other.close();
    });

    it('keeps the first answer', async () => {
      const key = randomUUID();
      await store.begin('acme/ann', key, use(), later);
      await store.put('acme/ann', key, answer(200), later);
      await store.put('acme/ann', key, answer(201), later);
      expect((await store.get('acme/ann', key))?.status).to.equal(200);
    });

    it('keeps one of many concurrent answers', async () => {
      const key = randomUUID();
      const other = await harness.open();
      await store.begin('acme/ann', key, use(), later);
      const racers = Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? store : other).put('acme/ann', key, answer(200 + n), later),
      );
      await Promise.all(racers);
      const kept = await store.get('acme/ann', key);
      expect(kept?.status).to.be.within(200, 209);
      await other.put('acme/ann', key, answer(299), later);
      expect(await other.get('acme/ann', key)).to.deep.equal(kept);
      await other.close();
    });

    it('reports exactly one of many concurrent attempts as the first', async () => {
      const key = randomUUID();
      const other = await harness.open();
      const racers = Array.from({ length: 10 }, (_, n) =>
        (n % 2 ? store : other).begin('acme/ann', key, use(), later),
      );
      const told = await Promise.all(racers);
      expect(told.filter((each) => each.first)).to.have.length(1);
      // All callers share the one recorded use.
      expect(new Set(told.map((each) => each.use.nonce)).size).to.equal(1);
      expect(await other.begin('acme/ann', key, use(), later)).to.deep.include({ first: false });
      expect(await store.get('acme/ann', key)).to.equal(undefined);
      await store.put('acme/ann', key, answer(200), later);
      expect(await store.begin('acme/ann', key, use(), later)).to.deep.include({ first: false });
      await other.close();
    });

    it('releases a refused use by its nonce, but not an answered use', async () => {
      const key = randomUUID();
      const { use: begun } = await store.begin('acme/ann', key, use(), later);
      await store.release('acme/ann', key, 'another');
      expect(await store.begin('acme/ann', key, use(), later)).to.deep.equal({ first: false, use: begun });
      await store.release('acme/ann', key, begun.nonce);
      const { first, use: next } = await store.begin('acme/ann', key, use(), later);
      expect(first).to.equal(true);
      await store.put('acme/ann', key, answer(200), later);
      await store.release('acme/ann', key, next.nonce);
      expect((await store.get('acme/ann', key))?.status).to.equal(200);
    });

    it('has one first attempt at a time while keys are released and begun again', async () => {
      const key = randomUUID();
      const other = await harness.open();
      let [holders, most, begun] = [0, 0, 0];
      const attempts = async (nth: number): Promise<void> => {
        const own = nth % 2 ? store : other;
        for (let round = 0; round < 60; round += 1) {
          const { first, use: taken } = await own.begin('acme/ann', key, use(), later);
          if (!first) continue;
          holders += 1;
          begun += 1;
          most = Math.max(most, holders);
          await own.get('acme/ann', key);
          holders -= 1;
          await own.release('acme/ann', key, taken.nonce);
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, nth) => attempts(nth)));
      expect(most).to.equal(1);
      expect(begun).to.be.greaterThan(1);
      await other.close();
    });

    it('separates scopes and keys', async () => {
      const key = randomUUID();
      await store.begin('acme/ann', key, use(), later);
      await store.put('acme/ann', key, answer(200), later);
      for (const [scope, other] of [
        ['acme/bob', key],
        ['globex/ann', key],
        ['acme/ann', `${key} `],
        ['acme/ann', key.toUpperCase()],
      ] as const) {
        expect(await store.get(scope, other)).to.equal(undefined);
        expect(await store.begin(scope, other, use(), later)).to.deep.include({ first: true });
      }
    });

    it('lists beginnings and answers with their expiry', async () => {
      const [begun, answered, alone] = [randomUUID(), randomUUID(), randomUUID()];
      const first = use();
      await store.begin('acme/list', begun, first, later);
      await store.begin('acme/list', answered, first, later);
      await store.put('acme/list', answered, answer(201), later + 5);
      await store.put('acme/list', alone, answer(204), later + 6);
      const of = new Map<string, unknown[]>();
      for await (const { scope, key, expiresAt, ...kept } of store.list()) {
        if (scope === 'acme/list') of.set(key, [...(of.get(key) ?? []), kept]);
        if (key === alone) expect(expiresAt).to.equal(later + 6);
      }
      expect(of.get(begun)).to.deep.equal([{ use: first }]);
      expect(of.get(answered)).to.have.deep.members([{ use: first }, { answer: answer(201) }]);
      expect(of.get(alone)).to.deep.equal([{ answer: answer(204) }]);
    });

    it('removes only what has expired', async () => {
      const [old, young] = [randomUUID(), randomUUID()];
      await store.begin('acme/ann', old, use(), later + 1_000);
      await store.put('acme/ann', old, answer(200), later + 1_000);
      await store.put('acme/ann', young, answer(200), later + 2_000);
      await store.sweep(later + 999);
      expect((await store.get('acme/ann', old))?.status).to.equal(200);
      await store.sweep(later + 1_000);
      expect(await store.get('acme/ann', old)).to.equal(undefined);
      expect(await store.begin('acme/ann', old, use(), later)).to.deep.include({ first: true });
      expect((await store.get('acme/ann', young))?.status).to.equal(200);
    });
  });
}
