import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { ENTITIES, fieldsOf } from '../entities/support.ts';
import {
  expectSafe,
  type Form,
  formOn,
  inputOf,
  publicForm,
  publicPath,
  published,
  recordsOf,
  sendForm,
  visit,
} from './support.ts';

/** Decisions, section 6, Form: the page, which works without scripts. */
describe('The page of a public form', () => {
  let world: World;
  let tenant: TestTenant;
  let form: Form;
  let path: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    await world.platform.patch(`/super/tenants/${tenant.id}`, { timezone: 'Europe/Berlin' });
    form = await published(
      tenant,
      [
        { key: 'name', type: 'text', label: 'Your name', required: true, max_length: 40 },
        { key: 'story', type: 'long_text' },
        { key: 'people', type: 'integer', min: 1, max: 10 },
        { key: 'price', type: 'decimal', max: '99.5' },
        { key: 'day', type: 'date' },
        { key: 'moment', type: 'datetime' },
        { key: 'kind', type: 'enum', options: ['water', 'fire'] },
        { key: 'urgent', type: 'boolean' },
        { key: 'news', type: 'boolean', default: true },
        { key: 'terms', type: 'boolean' },
      ],
      {
        title: 'Report damage',
        fields: [
          ...['name', 'story', 'people', 'price', 'day', 'moment', 'kind', 'urgent', 'news'].map(
            (field_key) => ({
              field_key,
            }),
          ),
          { field_key: 'terms', required: true },
        ],
      },
    );
    path = publicPath(tenant, form);
  });
  after(endWorld);

  const latest = async (of: Form = form) => (await recordsOf(tenant.admin, of.entity_name))[0]?.values;

  it('is HTML for clients that prefer it, and JSON for others', async () => {
    for (const [accept, type] of [
      ['text/html', 'text/html'],
      ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
      ['text/html, */*', 'text/html'],
      ['text/html;q=0.9, application/json;q=0.5', 'text/html'],
      ['*/*', 'application/json'],
      ['application/json', 'application/json'],
      ['application/json, text/html', 'application/json'],
      ['text/html;q=0, */*', 'application/json'],
      ['text/html;q=nonsense', 'application/json'],
      ['', 'application/json'],
    ] as const) {
      const response = await fetch(world.server.base + path, { headers: { accept } });
      expect([response.status, response.headers.get('content-type')], accept).to.deep.equal([
        200,
        `${type}; charset=utf-8`,
      ]);
      expect(response.headers.get('vary')).to.equal('Accept');
      await response.text();
    }
    (await world.anybody.get(path)).as(publicForm);
  });

  it('allows its own style only, and cannot be cached or framed', async () => {
    for (const at of [path, `/api/v1${path}`]) {
      const { headers, page } = await visit(world.server, at);
      const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? '';
      const hash = createHash('sha256').update(style).digest('base64');
      expect(headers.get('content-security-policy')).to.equal(
        `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      );
      expect(page).not.to.contain(' style=');
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expectSafe(page);
    }
  });

  it('has a language, a title, and a labelled input for each field', async () => {
    const { page } = await visit(world.server, path);
    expect(page).to.match(/^<!doctype html>\n<html lang="en">/);
    expect(page).to.contain('<title>Report damage</title>').and.to.contain('<h1>Report damage</h1>');
    expect(page).to.contain('name="viewport" content="width=device-width, initial-scale=1"');
    for (const { field_key, label } of form.fields) {
      expect(page).to.contain(`<label for="field-${field_key}">${label}`);
      expect(page.split(`id="field-${field_key}"`), field_key).to.have.length(2);
    }
    const shown = (key: string) => inputOf(page, key);
    expect(shown('name')).to.equal(
      '<input id="field-name" name="name" required type="text" maxlength="40" value="">',
    );
    expect(shown('story')).to.match(/^<textarea .* maxlength="100000">$/);
    expect(shown('people')).to.match(/ type="number" step="1" .*min="1" max="10"/);
    expect(shown('price')).to.match(/ type="number" step="any" .*max="99.5"/);
    expect(shown('day')).to.contain(' type="date"');
    expect(shown('moment')).to.contain(' type="datetime-local"');
    expect(page).to.contain('<p class="hint" id="field-moment-hint">Time zone: Europe/Berlin</p>');
    expect(shown('moment')).to.contain('aria-describedby="field-moment-hint"');
    expect(shown('kind')).to.match(/^<select /);
    expect(page).to.contain('<option value="fire">fire</option>');
    expect(shown('urgent')).to.contain(' type="checkbox"').and.not.to.contain('checked');
    expect(shown('news'), 'its default is true').to.contain('checked');
    for (const key of ['name', 'terms']) expect(shown(key)).to.contain(' required');
    for (const key of ['story', 'people', 'urgent']) expect(shown(key)).not.to.contain('required');
  });

  it('submits texts, which become values of their types', async () => {
    const { page } = await visit(world.server, path);
    const { action, hidden } = formOn(page, path);
    expect(action).to.equal(`${path}/submissions`);
    const sent = await sendForm(world.server, action, {
      ...hidden,
      name: 'Ödön & Söhne + 1',
      story: 'one\r\ntwo 🙂',
      people: '7',
      price: '.50',
      day: '2026-02-28',
      moment: '2026-07-01T10:30',
      kind: 'fire',
      terms: 'true',
    });
    expect(sent.status).to.equal(201);
    expect(sent.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(sent.headers.get('content-security-policy')).to.contain("default-src 'none'");
    expect(sent.page).to.contain('Thank you').and.to.contain('<title>Sent: Report damage</title>');
    expect(new URL(/<a href="([^"]+)"/.exec(sent.page)?.[1] ?? '', `http://x${action}`).pathname).to.equal(
      path,
    );
    expect(await latest()).to.deep.equal({
      name: 'Ödön & Söhne + 1',
      story: 'one\ntwo 🙂',
      people: 7,
      price: '0.50',
      day: '2026-02-28',
      moment: '2026-07-01T08:30:00.000Z',
      kind: 'fire',
      urgent: false,
      news: false,
      terms: true,
    });
  });

  it('treats empty texts as no values', async () => {
    const { hidden } = formOn((await visit(world.server, path)).page, path);
    const nothing = { story: '', people: ' ', price: '', day: '', moment: '', kind: '' };
    const values = { ...hidden, name: 'Ann', urgent: 'on', news: 'true', terms: 'true', ...nothing };
    expect((await sendForm(world.server, `${path}/submissions`, values)).status).to.equal(201);
    expect(await latest()).to.deep.equal({ name: 'Ann', urgent: true, news: true, terms: true });
  });

  it('gives one submission when sent twice, and another when opened again', async () => {
    const before = (await recordsOf(tenant.admin, form.entity_name)).length;
    const send = (hidden: Record<string, string>, name: string) =>
      sendForm(world.server, `${path}/submissions`, { ...hidden, name, terms: 'true' });
    const first = formOn((await visit(world.server, path)).page, path).hidden;
    expect(Object.values(first)).to.have.length(1);
    expect(Object.values(first)[0]).to.match(/^[0-9a-f-]{36}$/);
    const answers = await Promise.all([send(first, 'Twice'), send(first, 'Twice'), send(first, 'Other')]);
    expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201]);
    expect(await recordsOf(tenant.admin, form.entity_name)).to.have.length(before + 1);
    const second = formOn((await visit(world.server, path)).page, path).hidden;
    expect(second).not.to.deep.equal(first);
    await send(second, 'Twice');
    expect(await recordsOf(tenant.admin, form.entity_name)).to.have.length(before + 2);
  });

  it('returns with the entered values and each field’s problems', async () => {
    const before = (await recordsOf(tenant.admin, form.entity_name)).length;
    const { hidden } = formOn((await visit(world.server, path)).page, path);
    const wrong = {
      name: ' ',
      story: '\nkept\n',
      people: 'many',
      price: '1,5',
      day: '2026-02-30',
      kind: 'earth',
    };
    const sent = await sendForm(world.server, `${path}/submissions`, { ...hidden, ...wrong, urgent: 'true' });
    expect(sent.status).to.equal(400);
    expect(sent.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(sent.headers.get('cache-control')).to.equal('no-store');
    expect(sent.page).to.contain('<title>Error: Report damage</title>').and.to.contain('role="alert"');
    for (const key of ['name', 'people', 'price', 'day', 'kind', 'terms']) {
      expect(sent.page, key).to.contain(`<a href="#field-${key}">`);
      expect(sent.page, key).to.contain(`id="field-${key}-wrong"`);
      expect(inputOf(sent.page, key)).to.contain('aria-invalid="true"').and.to.contain(`field-${key}-wrong`);
    }
    expect(inputOf(sent.page, 'story')).not.to.contain('aria-invalid');
    expect(sent.page).to.contain('>\n\nkept\n</textarea>');
    expect(inputOf(sent.page, 'price')).to.contain('value="1,5"');
    expect(inputOf(sent.page, 'urgent')).to.contain(' checked');
    expect(inputOf(sent.page, 'news'), 'was not ticked').not.to.contain('checked');
    expectSafe(sent.page);
    expect(await recordsOf(tenant.admin, form.entity_name)).to.have.length(before);

    // The returned form keeps its address and its submission id.
    const again = formOn(sent.page, `${path}/submissions`);
    expect(again).to.deep.equal({ action: `${path}/submissions`, hidden });
    const mended = { ...again.hidden, name: 'Mended', terms: 'true' };
    expect((await sendForm(world.server, again.action, mended)).status).to.equal(201);
    expect(await recordsOf(tenant.admin, form.entity_name)).to.have.length(before + 1);
  });

  it('answers 422 for a constraint violation', async () => {
    const sent = await sendForm(world.server, `${path}/submissions`, {
      name: 'x'.repeat(41),
      people: '11',
      price: '99.51',
      terms: 'true',
    });
    expect(sent.status).to.equal(422);
    for (const key of ['name', 'people', 'price']) expect(sent.page).to.contain(`href="#field-${key}"`);
  });

  it('reports problems that belong to no field: unknown names, an invalid submission_id', async () => {
    const values = { name: 'x', terms: 'true', secret: 'y', '<b>': 'z' };
    const unknown = await sendForm(world.server, `${path}/submissions`, values);
    expect(unknown.status).to.equal(400);
    expect(unknown.page).to.contain('<li>secret: ').and.to.contain('<li>&lt;b&gt;: ');
    expectSafe(unknown.page);
    const bad = { name: 'x', terms: 'true', _submission_id: '<script>' };
    const refused = await sendForm(world.server, `${path}/submissions`, bad);
    expect(refused.status).to.equal(400);
    expect(formOn(refused.page, path).hidden._submission_id).to.match(/^[0-9a-f-]{36}$/);
    const all = { people: 'many', secret: 'y', _submission_id: 'a b' };
    const { page } = await sendForm(world.server, `${path}/submissions`, all);
    for (const key of ['name', 'people', 'terms']) expect(page, key).to.contain(`href="#field-${key}"`);
    expect(page).to.contain('<li>secret: ').and.to.contain('<li>A submission_id has');
  });

  it('refuses several values for one field, and a malformed form body', async () => {
    const post = async (body: string) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const response = await fetch(`${world.server.base}${path}/submissions`, {
        method: 'POST',
        headers,
        body,
      });
      return { status: response.status, text: await response.text() };
    };
    const twice = await post('name=a&name=b&terms=true');
    expect(twice.status).to.equal(400);
    expect(twice.text).to.contain('href="#field-name"');
    const broken = await post('name=%zz');
    expect(broken.status).to.equal(400);
    expect(broken.text).to.contain('<h1>').and.to.contain('Go back in your browser');
    expectSafe(broken.text);
    expect((await post(`name=${'x'.repeat(1_048_576)}`)).status).to.equal(413);
    const zeros = performance.now();
    expect((await post(`price=${'0'.repeat(900_000)}x&people=${'1'.repeat(100_000)}`)).status).to.equal(400);
    expect(performance.now() - zeros).to.be.lessThan(await atPresentPace(5000));
  });

  it('accepts an entity’s field called submission_id', async () => {
    const own = await published(tenant, [{ key: 'submission_id', type: 'text' }]);
    const at = publicPath(tenant, own);
    const { hidden, action } = formOn((await visit(world.server, at)).page, at);
    await sendForm(world.server, action, { ...hidden, submission_id: 'a value' });
    expect(await latest(own)).to.deep.equal({ submission_id: 'a value' });
  });

  it('escapes titles, labels, options and values', async () => {
    const evil = `"><script>alert('x')</script><img src=x onerror=alert(1)>&amp;`;
    const own = await published(
      tenant,
      [
        { key: 'text', type: 'text', label: evil },
        { key: 'long', type: 'long_text', label: `</textarea>${evil}` },
        { key: 'pick', type: 'enum', label: evil, options: [`</select>${evil}`, `' onfocus='x`] },
        { key: 'tick', type: 'boolean', label: `</label>${evil}` },
      ],
      { title: `</title>${evil}` },
    );
    const at = publicPath(tenant, own);
    const shown = await visit(world.server, at);
    expectSafe(shown.page.replaceAll(/onerror=alert/g, ''));
    expect(shown.page).to.contain(
      '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&amp;amp;',
    );
    const values = { text: evil, long: `</textarea>${evil}`, pick: evil, tick: evil, [evil]: evil };
    const refused = await sendForm(world.server, `${at}/submissions`, values);
    expect(refused.status).to.equal(400);
    expectSafe(refused.page.replaceAll(/onerror=alert/g, ''));
    for (const { page } of [shown, refused]) {
      expect(page.match(/<\/textarea>/g)).to.have.length(1);
      expect(page.match(/<\/title>/g)).to.have.length(1);
      // No value has become an attribute.
      for (const [tag] of page.matchAll(/<[a-z][^>]*>/g)) {
        expect(tag.replaceAll(/="[^"]*"/g, ''), tag).not.to.match(/\bon\w+|\bsrc\b/);
      }
    }
    // The text is stored as written: clients must escape it.
    const sent = await sendForm(world.server, `${at}/submissions`, { text: evil });
    expect([sent.status, await latest(own)]).to.deep.equal([201, { text: evil, tick: false }]);
    expectSafe(sent.page.replaceAll(/onerror=alert/g, ''));
  });

  it('answers with a page when the entity requires a field that the form lacks', async () => {
    const own = await published(tenant, [{ key: 'name', type: 'text' }]);
    const at = publicPath(tenant, own);
    const fields = fieldsOf({ key: 'name', type: 'text' }, { key: 'wanted', type: 'text', required: true });
    expect((await tenant.admin.api.patch(`${ENTITIES}/${own.entity_name}`, { fields })).status).to.equal(200);
    const sent = await sendForm(world.server, `${at}/submissions`, { name: 'x' });
    expect(sent.status).to.equal(400);
    expect(sent.page).to.contain('<li>wanted: ');
  });

  it('of one tenant shows nothing of another', async () => {
    const other = await world.tenant();
    const theirs = await published(other, [{ key: 'hidden_away', type: 'text' }], {
      slug: form.slug,
      title: `secret of ${other.id}`,
    });
    for (const page of [
      (await visit(world.server, path)).page,
      (await world.anybody.get(path)).text,
      (await world.anybody.with(other.admin.token).get(path)).text,
    ]) {
      expect(page).to.contain('Report damage').and.not.to.contain(other.id).and.not.to.contain('hidden_away');
    }
    const name = { name: 'x', terms: 'true' };
    await sendForm(world.server, `${publicPath(other, theirs)}/submissions`, name);
    await sendForm(world.server, `${publicPath(other, theirs)}/submissions`, { hidden_away: 'theirs' });
    const records = await recordsOf(other.admin, theirs.entity_name);
    expect(records.map(({ values }) => values)).to.deep.equal([{ hidden_away: 'theirs' }]);
    const own = (await recordsOf(tenant.admin, form.entity_name)).map(({ values }) => JSON.stringify(values));
    expect(own.join()).not.to.contain('theirs');
  });
});
