import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { tenant as tenantShape } from '../../support/shapes.ts';
import { forSuite } from '../../support/suite.ts';
import { ENTITIES, type FieldInput, fieldsOf, issuesOf } from '../entities/support.ts';
import { act, draft, FORMS, form, publicPath, published, send, VALUES, withClaims } from './support.ts';

/** Decisions, section 6, Form: forms hidden from the public. */
describe('Public forms', () => {
  const here = forSuite(withClaims);

  describe('that are hidden', () => {
    const strip = (answer: Answer) => ({
      status: answer.status,
      text: answer.text,
      headers: [...answer.headers].filter(([name]) => !['x-request-id', 'date'].includes(name)),
    });
    const html = { headers: { accept: 'text/html' } };
    const both = async (at: string) => {
      const { world } = here();
      const form = new URLSearchParams(VALUES).toString();
      return [
        strip(await world.anybody.get(at)),
        strip(await world.anybody.get(at, html)),
        strip(await send(world.anybody, at, VALUES)),
        strip(
          await world.anybody.post(`${at}/submissions`, undefined, {
            raw: form,
            headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
          }),
        ),
      ];
    };

    it('are 404 with the same bytes for every reason', async () => {
      const { world, tenant, claim } = here();
      const unknown = await both(`/public/forms/${tenant.id}/no-such-form`);
      for (const { status, text } of unknown) {
        expect([status, JSON.parse(text).error]).to.deep.equal([404, 'not_found']);
      }
      expect(new Set(unknown.map(({ text }) => text)).size).to.equal(1);

      const make = () =>
        published(tenant, [
          { key: 'name', type: 'text' },
          { key: 'mail', type: 'text' },
        ]);
      const [archived, deleted] = [await make(), await make()];
      const own = await draft(tenant.admin, {
        entity_name: archived.entity_name,
        fields: [{ field_key: 'name' }],
      });
      await act(tenant.admin, archived.id, 'archive');
      await tenant.admin.api.delete(`${FORMS}/${deleted.id}`);
      const suspended = await world.tenant();
      const theirs = await published(suspended, [{ key: 'name', type: 'text' }]);
      expect((await world.anybody.get(publicPath(suspended, theirs))).status).to.equal(200);
      (await world.platform.patch(`/super/tenants/${suspended.id}`, { status: 'suspended' })).as(tenantShape);

      for (const at of [
        publicPath(tenant, own),
        publicPath(tenant, archived),
        publicPath(tenant, deleted),
        publicPath(suspended, theirs),
        `/public/forms/no_such_tenant/${claim.slug}`,
        `/public/forms/platform/${claim.slug}`,
        `/public/forms/${suspended.id}/${claim.slug}`,
        `/public/forms/${tenant.id}/${theirs.slug}`,
        `/public/forms/${tenant.id}/${claim.slug.toUpperCase()}`,
        `/public/forms/${tenant.id.toUpperCase()}/${claim.slug}`,
        `/public/forms/${tenant.id}/%2e%2e`,
        `/public/forms/${tenant.id}/%00`,
        `/public/forms/${tenant.id}/%ff`,
        `/public/forms/${tenant.id}/${'x'.repeat(3000)}`,
        `/public/forms/${tenant.id}.form_slug-${claim.slug}/${claim.slug}`,
      ]) {
        expect(await both(at), at).to.deep.equal(unknown);
      }
    });
  });

  it('whose entity has new required fields return the record’s errors, and never a 500', async () => {
    const { world, tenant } = here();
    const made = await published(tenant, [{ key: 'name', type: 'text' }]);
    const at = publicPath(tenant, made);
    const change = (...fields: FieldInput[]) =>
      tenant.admin.api.patch(`${ENTITIES}/${made.entity_name}`, { fields: fieldsOf(...fields) });
    const wanted = { key: 'wanted', type: 'text', required: true };

    await change({ key: 'name', type: 'text' }, wanted);
    const missing = await send(world.anybody, at, { name: 'x' });
    expect([missing.status, ...issuesOf(missing.json)]).to.deep.equal([
      400,
      'values.wanted missing_required',
    ]);

    await change({ key: 'name', type: 'integer' });
    expect((await world.anybody.get(at)).json).to.have.nested.property('fields[0].type', 'integer');
    const typed = await send(world.anybody, at, { name: 'x' });
    expect([typed.status, ...issuesOf(typed.json)]).to.deep.equal([400, 'values.name type_mismatch']);

    await change({ key: 'name', type: 'user' });
    expect((await world.anybody.get(at)).json).to.have.deep.property('fields', []);
    const person = await send(world.anybody, at, { name: tenant.admin.id });
    expect([person.status, ...issuesOf(person.json)]).to.deep.equal([400, 'values.name unknown_field']);
    expect((await act(tenant.admin, made.id, 'archive')).as(form).status).to.equal('archived');
    expect((await act(tenant.admin, made.id, 'publish')).status).to.equal(422);
  });
});
