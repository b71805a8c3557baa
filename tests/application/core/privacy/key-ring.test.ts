import { expect } from 'chai';
import fc from 'fast-check';
import { KeyRing, sealedKeyId } from '../../../../application/core/privacy/key-ring.ts';
import { sealedAnswers } from '../../../../application/core/privacy/sealed-answers.ts';
import { gate, rejection } from '../../../support/eventually.ts';
import { memoryKeyStore } from '../../../support/fakes.ts';
import { MASTER_KEY } from '../../../support/node.ts';

const ID = 'acme/message-m1';
const nodes = () => {
  const store = memoryKeyStore();
  return { store, here: new KeyRing(store, MASTER_KEY), there: new KeyRing(store, MASTER_KEY) };
};
const withKey = async (id = ID) => {
  const all = nodes();
  await all.here.persist([all.here.create(id)]);
  return all;
};

describe('the key ring', () => {
  it('opens its sealed texts on every node', async () => {
    const { here, there } = await withKey();
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed()),
        async (text) => {
          const sealed = here.seal(ID, text);
          expect(await here.open(sealed)).to.equal(text);
          expect(await there.open(sealed)).to.equal(text);
        },
      ),
    );
  });

  it('opens every loaded text while many others are loaded', async () => {
    const { here, there } = nodes();
    const texts: { readonly id: string; readonly sealed: string }[] = [];
    for (let n = 0; n < 20_000; n += 1) {
      const id = `acme/${await here.newTextKey('acme')}`;
      texts.push({ id, sealed: here.seal(id, `text ${n}`) });
    }
    const read = async (from: number, count: number): Promise<void> => {
      const page = texts.slice(from, from + count);
      await there.load(page.map(({ id }) => id));
      const opened = page.map(({ sealed }) => there.openLoaded(sealed));
      expect(opened.indexOf(undefined), `of those from ${from}`).to.equal(-1);
    };
    // Overlapping loads one after another, then many concurrent loads.
    for (let from = 0; from + 700 <= texts.length; from += 450) await read(from, 700);
    await Promise.all(Array.from({ length: 60 }, (_, n) => read((n * 331) % 19_000, 900)));
  });

  it('seals the same text differently each time', async () => {
    const { here } = await withKey();
    const sealed = Array.from({ length: 2000 }, () => here.seal(ID, 'x'));
    expect(new Set(sealed).size).to.equal(sealed.length);
  });

  it('returns the key id of a sealed text with colons', async () => {
    const id = 'acme/person-auth0|a:b@c';
    const { here, there } = await withKey(id);
    const sealed = here.seal(id, 'x');
    expect(sealedKeyId(sealed)).to.equal(id);
    expect(await there.open(sealed)).to.equal('x');
  });

  it('stores wrapped keys only, neither plain keys nor texts', async () => {
    const { store, here } = await withKey();
    here.seal(ID, 'a personal text');
    const other = new KeyRing(store, 'another master key');
    expect(await rejection(other.load([ID]))).to.be.instanceOf(Error);
    expect(other.has(ID)).to.equal(false);
    const wrapped = store.wrapped.get(ID);
    expect(wrapped).to.have.length(12 + 32 + 16);
  });

  it('does not open a seal or a wrapping moved to another id', async () => {
    const { store, here } = await withKey();
    await here.persist([here.create('acme/message-m2')]);
    const moved = here.seal(ID, 'x').replace('m1', 'm2');
    expect(await rejection(here.open(moved))).to.be.instanceOf(Error);
    const wrapped = store.wrapped.get(ID);
    if (wrapped !== undefined) store.wrapped.set('acme/message-m3', wrapped);
    expect(await rejection(here.load(['acme/message-m3']))).to.be.instanceOf(Error);
  });

  it('detects a changed seal', async () => {
    const { here } = await withKey();
    const sealed = here.seal(ID, 'some text');
    const body = Buffer.from(sealed.slice(sealed.lastIndexOf(':') + 1), 'base64');
    for (let at = 0; at < body.length; at += 1) {
      const changed = Buffer.from(body);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const text = `v1:${ID}:${changed.toString('base64')}`;
      expect(await rejection(here.open(text))).to.be.instanceOf(Error);
    }
  });

  it('opens nothing without a key, and seals nothing with a key not loaded', async () => {
    const { here } = nodes();
    expect(await here.open(`v1:${ID}:AAAA`)).to.equal(undefined);
    expect(here.has(ID)).to.equal(false);
    expect(() => here.seal(ID, 'x')).to.throw('not loaded');
  });

  describe('once a key is destroyed', () => {
    it('opens nothing with the key on any node that knows of the destruction', async () => {
      const { here, there } = await withKey();
      const sealed = here.seal(ID, 'x');
      expect(await there.open(sealed)).to.equal('x');
      await here.destroy(ID);
      expect(await here.open(sealed)).to.equal(undefined);
      there.markDestroyed(ID);
      expect(await there.open(sealed)).to.equal(undefined);
      expect(there.seal(ID, 'later text')).to.equal(`v1:${ID}:`);
    });

    it('keeps it destroyed when it is created again', async () => {
      const { here, there } = await withKey();
      await here.destroy(ID);
      await there.persist([there.create(ID)]);
      there.forget(ID);
      expect(await there.open(`v1:${ID}:AAAA`)).to.equal(undefined);
    });

    it('keeps it destroyed when a load was running', async () => {
      const { store, here } = await withKey();
      const sealed = here.seal(ID, 'x');
      const [read, answer] = [gate(), gate()];
      const slow = new KeyRing(
        {
          ...store,
          getMany: async (ids) => {
            const found = await store.getMany(ids);
            read.open();
            await answer.passed;
            return found;
          },
        },
        MASTER_KEY,
      );
      const opening = slow.open(sealed);
      await read.passed;
      slow.markDestroyed(ID);
      answer.open();
      expect(await opening).to.equal(undefined);
      expect(await slow.open(sealed)).to.equal(undefined);
    });
  });

  it('limits its memory and loads evicted keys again', async () => {
    const { store, here } = await withKey();
    const sealed = here.seal(ID, 'x');
    let asked = 0;
    const small = new KeyRing(
      { ...store, getMany: (ids) => store.getMany(ids).finally(() => asked++) },
      MASTER_KEY,
    );
    await small.open(sealed);
    for (let n = 0; n < 50_000; n += 1) small.create(`acme/message-x${n}`);
    await new Promise((resolve) => setImmediate(resolve));
    expect(small.has(ID)).to.equal(false);
    expect(await small.open(sealed)).to.equal('x');
    expect(asked).to.equal(2);
  });

  it('reads many keys in one query, and no key that it already has', async () => {
    const { store, here } = await withKey();
    const asked: (readonly string[])[] = [];
    const ring = new KeyRing(
      {
        ...store,
        getMany: (ids) => {
          asked.push(ids);
          return store.getMany(ids);
        },
      },
      MASTER_KEY,
    );
    await ring.load([ID, 'acme/message-none', ID]);
    await ring.load([ID]);
    expect(asked).to.deep.equal([[ID, 'acme/message-none']]);
    here.forget(ID);
    expect(here.has(ID)).to.equal(false);
  });
});

describe('stored answers', () => {
  const sealed = async (ids: readonly string[]) => {
    const { here } = nodes();
    await here.persist(ids.map((id) => here.create(id)));
    return { here, answers: sealedAnswers(here) };
  };

  it('round-trip without plain text in the store', async () => {
    const { answers } = await sealed(['acme/person-ann', ID]);
    // The name has a space, which base64 never has.
    const answer = { name: 'Ann Lee', body: 'hello' };
    const stored = await answers.store(answer, ['acme/person-ann', ID]);
    expect(stored).not.to.include('Ann Lee');
    expect(await answers.restore(stored)).to.deep.equal(answer);
    expect(await answers.restore(await answers.store([1, null], []))).to.deep.equal([1, null]);
  });

  it('are erased with any of their texts', async () => {
    const ids = ['acme/person-ann', 'acme/person-bob', ID];
    for (const gone of ids) {
      const { here, answers } = await sealed(ids);
      const stored = await answers.store({ body: 'hello' }, ids);
      await here.destroy(gone);
      expect(await answers.restore(stored)).to.equal(undefined);
    }
  });

  it('stay small with fifty names in them', async () => {
    const ids = Array.from({ length: 50 }, (_, n) => `acme/person-p${n}`);
    for (const count of [5, 10, 20, 50]) {
      const { answers } = await sealed(ids);
      const stored = await answers.store({ body: 'x'.repeat(2000) }, ids.slice(0, count));
      expect(stored.length).to.be.lessThan(3000 + count * 300);
      expect(await answers.restore(stored)).to.deep.equal({ body: 'x'.repeat(2000) });
    }
  }).timeout(20_000);
});
