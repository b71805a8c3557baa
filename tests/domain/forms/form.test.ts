import { expect } from 'chai';
import {
  archiveForm,
  changeForm,
  createForm,
  deleteForm,
  type FormDefinition,
  type FormEvent,
  formStream,
  publishForm,
} from '../../../domain/forms/form.ts';
import { submissionStream, submitForm } from '../../../domain/forms/submission.ts';
import { BEGINNING, given } from '../../support/given.ts';

const DEFINITION: FormDefinition = {
  slug: 'report',
  title: 'Report',
  entityName: 'claim',
  fields: [{ field_key: 'name', label: 'Name', required: true }],
};
const data = {
  form_id: 'one',
  slug: 'report',
  claim_id: 'claim-1',
  title: 'Report',
  entity_name: 'claim',
  fields: [{ field_key: 'name', label: 'Name', required: true }],
};
const created: FormEvent = { type: 'FormCreated', data };
const published: FormEvent = { type: 'FormPublished', data: { form_id: 'one' } };
const archived: FormEvent = { type: 'FormArchived', data: { form_id: 'one' } };
const deleted: FormEvent = { type: 'FormDeleted', data };

describe('A form', () => {
  const create = (state: Parameters<typeof createForm>[0]) =>
    createForm(state, { id: 'one', claimId: 'claim-1', definition: DEFINITION });

  it('begins as a draft', () => {
    given(formStream).when(create).gives(created);
    expect(given(formStream, created).state).to.deep.equal({
      status: 'draft',
      id: 'one',
      claimId: 'claim-1',
      ...DEFINITION,
      createdAt: BEGINNING + 1000,
      updatedAt: BEGINNING + 1000,
    });
  });

  it('is created once for an id, even after its deletion', () => {
    given(formStream, created).when(create).isRefused('conflict');
    given(formStream, created, deleted).when(create).isRefused('conflict');
  });

  it('is published once from draft or archived', () => {
    given(formStream, created).when(publishForm).gives(published);
    given(formStream, created, published, archived).when(publishForm).gives(published);
    given(formStream, created, published).when(publishForm).givesNothing();
  });

  it('is archived once from draft or published', () => {
    given(formStream, created).when(archiveForm).gives(archived);
    given(formStream, created, published).when(archiveForm).gives(archived);
    given(formStream, created, archived).when(archiveForm).givesNothing();
  });

  it('changes only the given members, and nothing for equal values', () => {
    const change = (to: Parameters<typeof changeForm>[1], claim = 'claim-1') =>
      given(formStream, created, published).when((state) => changeForm(state, to, claim));
    change({ title: 'Other' }).gives({ type: 'FormChanged', data: { ...data, title: 'Other' } });
    change({ title: 'Other' }).thenAgainNothing();
    change({}).givesNothing();
    change({ ...DEFINITION, fields: [...DEFINITION.fields] }).givesNothing();
    for (const fields of [
      [],
      [{ field_key: 'name', label: 'Other', required: true }],
      [{ field_key: 'name', label: 'Name', required: false }],
      [...DEFINITION.fields, { field_key: 'more', label: 'More', required: false }],
    ]) {
      change({ fields }).gives({ type: 'FormChanged', data: { ...data, fields } });
    }
    // Another claim holds the slug from now on.
    change({}, 'claim-2').gives({ type: 'FormChanged', data: { ...data, claim_id: 'claim-2' } });
    const after = given(formStream, created, published, {
      type: 'FormChanged',
      data: { ...data, slug: 'other', entity_name: 'thing', claim_id: 'claim-2' },
    });
    expect(after.state).to.deep.include({
      status: 'published',
      slug: 'other',
      entityName: 'thing',
      claimId: 'claim-2',
      createdAt: BEGINNING + 1000,
      updatedAt: BEGINNING + 3000,
    });
  });

  it('is deleted for good', () => {
    given(formStream, created, published).when(deleteForm).gives(deleted);
    for (const story of [[], [created, deleted], [created, deleted, published]]) {
      const gone = given(formStream, ...story);
      for (const decide of [publishForm, archiveForm, deleteForm]) gone.when(decide).isRefused('not_found');
      gone.when((state) => changeForm(state, {}, 'claim-1')).isRefused('not_found');
    }
  });
});

describe('A submission', () => {
  it('is submitted once', () => {
    const first = {
      form_id: 'one',
      submission_id: 's',
      entity_name: 'claim',
      entity_id: 'r',
      values: { a: 1 },
    };
    given(submissionStream)
      .when((state) => submitForm(state, first))
      .gives({ type: 'FormSubmitted', data: first });
    given(submissionStream, { type: 'FormSubmitted', data: first })
      .when((state) => submitForm(state, { ...first, values: { a: 2 } }))
      .givesNothing();
  });
});
