import { expect } from 'chai';
import { refusalCode } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores } from '../../support/node.ts';
import { crashingAt, seeded, withRandomYields } from '../entities/faults.ts';
import { request, TENANT } from '../entities/support.ts';
import { given, publish, type Shared, startForms } from './support.ts';

const MINUTE = 60_000;

describe('slugs of forms', () => {
  const start = async () => {
    const clock = testClock();
    const shared: Shared & { clock: typeof clock } = { ...memoryStores(), clock };
    const node = startForms(shared);
    await node.prepare();
    return { node, shared, clock };
  };

  it('go to one of two nodes that request them concurrently', async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const { node, shared } = await start();
      const nodes = [1, 2].map((n) => startForms(shared, withRandomYields(seeded(seed * 10 + n))));
      const asked = nodes.flatMap((each) =>
        [1, 2].map(() => each.forms.create(TENANT, given('wanted'), request())),
      );
      const outcomes = await Promise.allSettled(asked);
      const made = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.form] : []));
      expect(made, `seed ${seed}`).to.have.length(1);
      for (const one of outcomes) {
        if (one.status === 'rejected') expect(one.reason).to.have.property('code', 'already_exists');
      }
      await node.forms.publish(TENANT, made[0]?.id ?? '', request());
      expect((await node.forms.open(TENANT, 'wanted')).form.id).to.equal(made[0]?.id);
    }
  });

  it('of a process that crashed before its form was written are free after a minute', async () => {
    const { node, shared, clock } = await start();
    const dead = startForms(shared, crashingAt(1, true).wrap);
    await dead.forms.create(TENANT, given('wanted'), request()).catch(() => undefined);
    const create = () => node.forms.create(TENANT, given('wanted'), request());
    expect(await refusalCode(create())).to.equal('already_exists');
    clock.advance(MINUTE - 1);
    expect(await refusalCode(create())).to.equal('already_exists');
    clock.advance(1);
    expect((await create()).form.slug).to.equal('wanted');
  });

  it('whose reservation expired are not taken by a late process', async () => {
    const { node, shared, clock } = await start();
    let isLate = false;
    const slow = startForms(shared, (events) => ({
      ...events,
      append: async (stream, ...rest) => {
        const result = await events.append(stream, ...rest);
        if (!isLate && stream.includes('.form_slug-')) {
          isLate = true;
          clock.advance(MINUTE);
          await node.forms.create(TENANT, given('wanted'), request());
        }
        return result;
      },
    }));
    expect(await refusalCode(slow.forms.create(TENANT, given('wanted'), request()))).to.equal(
      'already_exists',
    );
    expect(isLate).to.equal(true);
  });

  it('of a deleted form are free at once, also after a crash before their release', async () => {
    const { node, shared } = await start();
    const id = await publish(node, 'wanted');
    const dead = startForms(shared, crashingAt(1, true).wrap);
    await dead.forms.delete(TENANT, id, request()).catch(() => undefined);
    expect(await refusalCode(node.forms.open(TENANT, 'wanted'))).to.equal('not_found');
    await publish(node, 'wanted');
    expect((await node.forms.open(TENANT, 'wanted')).form.id).not.to.equal(id);
  });

  it('that a form no longer uses are free and never lead to it again', async () => {
    const { node, shared, clock } = await start();
    const id = await publish(node, 'first');
    // Crashes after the form’s write, before the release of the old slug.
    const dead = startForms(shared, crashingAt(2, true).wrap);
    await dead.forms.change(TENANT, id, { slug: 'second' }, request()).catch(() => undefined);
    expect((await node.forms.open(TENANT, 'second')).form.id).to.equal(id);
    expect(await refusalCode(node.forms.open(TENANT, 'first'))).to.equal('not_found');
    clock.advance(MINUTE);
    await publish(node, 'first');
    expect((await node.forms.open(TENANT, 'first')).form.id).not.to.equal(id);
  });

  it('are free at once after each of many changes', async () => {
    const { node } = await start();
    const id = await publish(node, 'first');
    for (const slug of ['second', 'third', 'first', 'fourth']) {
      await node.forms.change(TENANT, id, { slug }, request());
    }
    for (const slug of ['first', 'second', 'third']) await publish(node, slug);
    expect(await refusalCode(node.forms.create(TENANT, given('fourth'), request()))).to.equal(
      'already_exists',
    );
  });

  it('without a form leave nothing in the cache', async () => {
    const { node } = await start();
    await publish(node, 'known');
    for (let i = 0; i < 20; i += 1) {
      for (const tenant of [TENANT, `nobody_${i}`]) {
        expect(await refusalCode(node.forms.open(tenant, `guess-${i}`))).to.equal('not_found');
        expect(node.states.cached(`${tenant}.form_slug-guess-${i}`)).to.equal(undefined);
        if (tenant !== TENANT) expect(node.states.cached(`platform.tenant-${tenant}`)).to.equal(undefined);
      }
    }
    expect((await node.forms.open(TENANT, 'known')).form.slug).to.equal('known');
  });

  it('stay consistent while several nodes change one form back and forth', async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const { node, shared } = await start();
      const id = await publish(node, 'a');
      const nodes = [1, 2].map((n) => startForms(shared, withRandomYields(seeded(seed * 10 + n))));
      await Promise.allSettled(
        nodes.flatMap((each) =>
          ['b', 'a', 'c'].map((slug) => each.forms.change(TENANT, id, { slug }, request())),
        ),
      );
      const form = await node.slugs.form(TENANT, id);
      if (!('slug' in form)) throw new Error('the form is gone');
      expect((await node.forms.open(TENANT, form.slug)).form.id, `seed ${seed}`).to.equal(id);
      expect(await refusalCode(node.forms.create(TENANT, given(form.slug), request()))).to.equal(
        'already_exists',
      );
    }
  });
});
