import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { activeExtension, loadExtension, mintToken } from '../../support/delegation.ts';
import { validationFailed } from '../../support/shapes.ts';
import { endWorld, type Member, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { define, ENTITIES, fieldsOf, issuesOf } from '../entities/support.ts';
import { act, draft, FORMS, type Form, form, forms, newSlug, publicPath, published } from './support.ts';

/** Decisions, section 6, Form; the scopes of section 3. */
describe('Forms', () => {
  let world: World;
  let tenant: TestTenant;
  let admin: Member;
  let entity: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    admin = tenant.admin;
    entity = await define(
      admin,
      { key: 'name', type: 'text', label: 'The name', required: true },
      { key: 'amount', type: 'integer' },
      { key: 'kind', type: 'enum', options: ['a', 'b'], required: true, default: 'a' },
      { key: 'owner', type: 'user' },
      { key: 'extra', type: 'json' },
    );
  });
  after(endWorld);

  const make = (own: Record<string, unknown> = {}, who = admin) =>
    who.api.post(FORMS, {
      slug: newSlug(),
      title: 'A form',
      entity_name: entity,
      fields: [{ field_key: 'name', required: true }],
      ...own,
    });
  const read = async (id: string) => (await admin.api.get(`${FORMS}/${id}`)).as(form);
  const open = async (slug: string) => (await world.anybody.get(publicPath(tenant, { slug }))).status;

  it('begin as hidden drafts, with the entity’s labels unless the form gives its own', async () => {
    const slug = newSlug();
    const answer = await make({
      slug,
      fields: [
        { field_key: 'name', required: true },
        { field_key: 'amount', label: 'How much?' },
      ],
    });
    const made = answer.as(form, 201);
    expect(made).to.deep.include({ slug, title: 'A form', entity_name: entity, status: 'draft' });
    expect(made.fields).to.deep.equal([
      { field_key: 'name', label: 'The name', required: true },
      { field_key: 'amount', label: 'How much?', required: false },
    ]);
    expect(made.created_at).to.equal(made.updated_at);
    expect(await read(made.id)).to.deep.equal(made);
    expect((await admin.api.get(FORMS)).as(forms)[0]).to.deep.equal(made);
    expect(await open(slug)).to.equal(404);
  });

  it('are published, changed, archived, published again and deleted', async () => {
    const { id, slug } = (await make()).as(form, 201);
    const step = async (what: 'publish' | 'archive') => (await act(admin, id, what)).as(form);
    const first = await step('publish');
    expect(first.status).to.equal('published');
    expect(await step('publish'), 'again').to.deep.equal(first);
    expect(await open(slug)).to.equal(200);

    const changed = await admin.api.patch(`${FORMS}/${id}`, { title: 'Another title' });
    expect(changed.as(form)).to.deep.include({ title: 'Another title', status: 'published', slug });
    const shown = await world.anybody.get(publicPath(tenant, { slug }));
    expect(shown.json).to.deep.include({ title: 'Another title' });

    const closed = await step('archive');
    expect(closed.status).to.equal('archived');
    expect(await step('archive'), 'again').to.deep.equal(closed);
    expect(await open(slug)).to.equal(404);
    expect((await step('publish')).status).to.equal('published');
    expect(await open(slug)).to.equal(200);

    expect((await admin.api.delete(`${FORMS}/${id}`)).status).to.equal(204);
    expect(await open(slug)).to.equal(404);
    for (const answer of [
      await admin.api.delete(`${FORMS}/${id}`),
      await admin.api.get(`${FORMS}/${id}`),
      await admin.api.patch(`${FORMS}/${id}`, { title: 'x' }),
      await act(admin, id, 'publish'),
      await act(admin, id, 'archive'),
      await admin.api.get(`${FORMS}/${randomUUID()}`),
      await admin.api.get(`${FORMS}/nothing`),
    ]) {
      expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
    }
  });

  it('can be archived while they are drafts', async () => {
    const { id } = (await make()).as(form, 201);
    expect((await act(admin, id, 'archive')).as(form).status).to.equal('archived');
  });

  it('are not changed by equal values', async () => {
    const made = (await make()).as(form, 201);
    const { slug, title, entity_name, fields } = made;
    const again = await admin.api.patch(`${FORMS}/${made.id}`, { slug, title, entity_name, fields });
    expect(again.as(form)).to.deep.equal(made);
    expect((await admin.api.patch(`${FORMS}/${made.id}`, {})).as(form)).to.deep.equal(made);
  });

  for (const [what, own, field] of [
    ['no slug', { slug: undefined }, 'slug'],
    ['an empty slug', { slug: '' }, 'slug'],
    ['a slug with capitals', { slug: 'Abc' }, 'slug'],
    ['a slug that begins with -', { slug: '-a' }, 'slug'],
    ['a slug of 64 characters', { slug: 'a'.repeat(64) }, 'slug'],
    ['a slug with a slash', { slug: 'a/b' }, 'slug'],
    ['a slug with a line break', { slug: 'abc\n' }, 'slug'],
    ['no title', { title: undefined }, 'title'],
    ['an empty title', { title: ' ' }, 'title'],
    ['a title of 201 characters', { title: 'x'.repeat(201) }, 'title'],
    ['no fields', { fields: [] }, 'fields'],
    ['101 fields', { fields: Array.from({ length: 101 }, (_, i) => ({ field_key: `f${i}` })) }, 'fields'],
    ['a field twice', { fields: [{ field_key: 'name' }, { field_key: 'name' }] }, 'fields.1.field_key'],
    ['an empty label', { fields: [{ field_key: 'name', label: '' }] }, 'fields.0.label'],
    ['a text as required', { fields: [{ field_key: 'name', required: 'yes' }] }, 'fields.0.required'],
    ['a malformed entity', { entity_name: '../x' }, 'entity_name'],
  ] as const) {
    it(`are refused with ${what}`, async () => {
      expect((await make(own)).as(validationFailed, 400).details.field).to.equal(field);
    });
  }

  for (const [what, own, issue] of [
    ['an unknown entity', { entity_name: 'nothing_here' }, 'entity_name reference_not_found'],
    ['an unknown field', { fields: [{ field_key: 'nope' }] }, 'fields.0.field_key unknown_field'],
    ['a field of Object', { fields: [{ field_key: 'constructor' }] }, 'fields.0.field_key unknown_field'],
    ['a field of type user', { fields: [{ field_key: 'owner' }] }, 'fields.0.field_key type_mismatch'],
    ['a field of type json', { fields: [{ field_key: 'extra' }] }, 'fields.0.field_key type_mismatch'],
  ] as const) {
    it(`are refused for ${what}, when created and when changed`, async () => {
      const { id } = (await make()).as(form, 201);
      for (const answer of [await make(own), await admin.api.patch(`${FORMS}/${id}`, own)]) {
        expect([answer.status, answer.error]).to.deep.equal([422, 'constraint_violated']);
        expect(issuesOf(answer.json)).to.deep.equal([issue]);
      }
    });
  }

  it('are published only if they have every required field that has no default', async () => {
    const { id } = (await make({ fields: [{ field_key: 'amount' }] })).as(form, 201);
    const refused = await act(admin, id, 'publish');
    expect([refused.status, refused.error]).to.deep.equal([422, 'constraint_violated']);
    expect(issuesOf(refused.json)).to.deep.equal(['fields missing_required']);
    expect((await read(id)).status).to.equal('draft');

    await admin.api.patch(`${FORMS}/${id}`, { fields: [{ field_key: 'name' }, { field_key: 'amount' }] });
    expect((await act(admin, id, 'publish')).status).to.equal(200);
    const worse = await admin.api.patch(`${FORMS}/${id}`, { fields: [{ field_key: 'amount' }] });
    expect([worse.status, worse.error]).to.deep.equal([422, 'constraint_violated']);
    expect((await read(id)).fields).to.have.length(2);
  });

  describe('and their slugs', () => {
    const taken = (answer: { status: number; error: string | undefined; json: unknown }): void => {
      expect([answer.status, answer.error]).to.deep.equal([409, 'already_exists']);
      expect(answer.json).to.have.nested.property('details.field', 'slug');
    };

    it('are unique, also for archived forms, until changed or deleted', async () => {
      const first = (await make()).as(form, 201);
      const { slug } = first;
      taken(await make({ slug }));
      // A taken slug is reported before invalid fields.
      taken(await make({ slug, entity_name: 'nothing_here' }));
      await act(admin, first.id, 'archive');
      taken(await make({ slug }));

      const moved = newSlug();
      expect((await admin.api.patch(`${FORMS}/${first.id}`, { slug: moved })).as(form).slug).to.equal(moved);
      const second = (await make({ slug })).as(form, 201);
      taken(await admin.api.patch(`${FORMS}/${second.id}`, { slug: moved }));
      taken(await admin.api.patch(`${FORMS}/${first.id}`, { slug }));
      await admin.api.delete(`${FORMS}/${first.id}`);
      expect((await admin.api.patch(`${FORMS}/${second.id}`, { slug: moved })).as(form).slug).to.equal(moved);
      expect((await make({ slug })).status).to.equal(201);
    });

    it('move a published form from the old address to the new one', async () => {
      const made = await published(tenant, [{ key: 'name', type: 'text' }]);
      const slug = newSlug();
      await admin.api.patch(`${FORMS}/${made.id}`, { slug });
      expect([await open(made.slug), await open(slug)]).to.deep.equal([404, 200]);
    });

    it('are given to one of several concurrent forms', async () => {
      for (let round = 0; round < 3; round += 1) {
        const slug = newSlug();
        const answers = await Promise.all(Array.from({ length: 8 }, () => make({ slug })));
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(7).fill(409)]);
        answers.filter(({ status }) => status === 409).forEach(taken);
        const listed = (await admin.api.get(`${FORMS}?limit=200`)).as(forms);
        expect(listed.filter((each) => each.slug === slug)).to.have.length(1);
      }
    });

    it('are given to one of several forms that change concurrently', async () => {
      const made = await Promise.all(Array.from({ length: 4 }, async () => (await make()).as(form, 201)));
      const slug = newSlug();
      const answers = await Promise.all(made.map(({ id }) => admin.api.patch(`${FORMS}/${id}`, { slug })));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409]);
      const slugs = await Promise.all(made.map(async ({ id }) => (await read(id)).slug));
      expect(slugs.filter((each) => each === slug)).to.have.length(1);
      expect(new Set(slugs).size).to.equal(4);
    });

    it('are separate for each tenant', async () => {
      const other = await world.tenant();
      const mine = await published(tenant, [{ key: 'name', type: 'text' }], { title: 'Mine' });
      const theirs = await published(other, [{ key: 'name', type: 'text' }], {
        title: 'Theirs',
        slug: mine.slug,
      });
      for (const [of, { slug }, title] of [
        [tenant, mine, 'Mine'],
        [other, theirs, 'Theirs'],
      ] as const) {
        const shown = await world.anybody.get(publicPath(of, { slug }));
        expect(shown.json).to.deep.include({ tenant: of.id, title });
      }
    });

    it('are kept by a repeated request, which creates no second form', async () => {
      const slug = newSlug();
      const body = { slug, title: 'Once', entity_name: entity, fields: [{ field_key: 'name' }] };
      const headers = { 'idempotency-key': slug };
      const [one, two] = await Promise.all([
        admin.api.post(FORMS, body, { headers }),
        admin.api.post(FORMS, body, { headers }),
      ]);
      expect([one.status, two.status]).to.deep.equal([201, 201]);
      expect(one.as(form, 201)).to.deep.equal(two.as(form, 201));
    });
  });

  it('are listed newest first, in pages', async () => {
    const own = await world.tenant();
    const name = await define(own.admin, { key: 'name', type: 'text' });
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) {
      made.unshift((await draft(own.admin, { entity_name: name, fields: [{ field_key: 'name' }] })).id);
    }
    const seen: string[] = [];
    for (let next: string | undefined = `${FORMS}?limit=2`; next !== undefined; ) {
      const answer = await own.admin.api.get(next);
      seen.push(...answer.as(forms).map(({ id }) => id));
      next = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
    }
    expect(seen).to.deep.equal(made);
  });

  describe('for other users than admins', () => {
    let made: Form;
    before(async () => {
      made = (await make()).as(form, 201);
    });

    it('are readable, but changed only by admins', async () => {
      const ada = await tenant.person('Ada');
      expect((await ada.api.get(FORMS)).status).to.equal(200);
      expect((await ada.api.get(`${FORMS}/${made.id}`)).as(form)).to.deep.equal(await read(made.id));
      for (const answer of [
        await make({}, ada),
        await ada.api.patch(`${FORMS}/${made.id}`, { title: 'x' }),
        await act(ada, made.id, 'publish'),
        await act(ada, made.id, 'archive'),
        await ada.api.delete(`${FORMS}/${made.id}`),
      ]) {
        expect([answer.status, answer.error]).to.deep.equal([403, 'admin_required']);
      }
    });

    const statuses = async (token: string): Promise<number[]> => {
      const api = world.anybody.with(token);
      const target = (await make()).as(form, 201).id;
      const who = { ...admin, api };
      const answers = [
        await api.get(FORMS),
        await api.get(`${FORMS}/${target}`),
        await make({}, who),
        await api.patch(`${FORMS}/${target}`, { title: 'Changed' }),
        await act(who, target, 'publish'),
        await act(who, target, 'archive'),
        await api.delete(`${FORMS}/${target}`),
      ];
      for (const { status, error } of answers) if (status === 403) expect(error).to.equal('scope_missing');
      return answers.map(({ status }) => status);
    };

    for (const [scopes, expected] of [
      [['forms:read'], [200, 200, 403, 403, 403, 403, 403]],
      [['forms:write'], [403, 403, 201, 200, 403, 403, 403]],
      [['forms:admin'], [403, 403, 403, 403, 200, 200, 204]],
      [
        ['forms:read', 'forms:write', 'forms:admin'],
        [200, 200, 201, 200, 200, 200, 204],
      ],
      [['data:write'], [403, 403, 403, 403, 403, 403, 403]],
    ] as const) {
      it(`allow an API token with ${scopes.join(', ')} exactly what its scopes permit`, async () => {
        const { token } = await mintToken(admin.api, { scopes });
        expect(await statuses(token)).to.deep.equal(expected);
      });
    }

    it('are readable for an extension with forms:read', async () => {
      const id = 'form-reader';
      await activeExtension(admin.api, id, { scopes: ['forms:read'] });
      const token = await loadExtension(admin.api, id);
      expect(await statuses(token)).to.deep.equal([200, 200, 403, 403, 403, 403, 403]);
    });
  });

  it('follow their entity: removed fields are no longer asked for', async () => {
    const made = await published(tenant, [
      { key: 'name', type: 'text', required: true },
      { key: 'later', type: 'text' },
    ]);
    const put = await admin.api.patch(`${ENTITIES}/${made.entity_name}`, {
      fields: fieldsOf({ key: 'name', type: 'text', required: true }),
    });
    expect(put.status).to.equal(200);
    const shown = await world.anybody.get(publicPath(tenant, made));
    expect(shown.json).to.have.nested.property('fields.length', 1);
    // The form can still be renamed, and accepts a list of fields without the removed one.
    expect((await admin.api.patch(`${FORMS}/${made.id}`, { title: 'Renamed' })).status).to.equal(200);
    const same = await admin.api.patch(`${FORMS}/${made.id}`, { fields: made.fields });
    expect(issuesOf(same.json)).to.deep.equal(['fields.1.field_key unknown_field']);
    expect(
      (await admin.api.patch(`${FORMS}/${made.id}`, { fields: made.fields.slice(0, 1) })).status,
    ).to.equal(200);
  });
});
