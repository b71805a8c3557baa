import { expect } from 'chai';
import { formsProjection } from '../../../projections/forms/forms.ts';
import { folded, type PastEvent } from '../../support/folded.ts';
import { BEGINNING } from '../../support/given.ts';

const time = (seconds: number): string => new Date(BEGINNING + seconds * 1000).toISOString();

const data = {
  form_id: 'one',
  slug: 'report',
  claim_id: 'claim-1',
  title: 'Report',
  entity_name: 'claim',
  fields: [{ field_key: 'name', label: 'Name', required: true }],
};
const created: PastEvent = { type: 'FormCreated', data };
const told = (type: string): PastEvent => ({ type, data: { form_id: 'one' } });
const doc = {
  id: 'one',
  slug: 'report',
  title: 'Report',
  entity_name: 'claim',
  fields: data.fields,
  status: 'draft',
  created_at: time(1),
  updated_at: time(1),
};

describe('The list of forms', () => {
  it('shows each form’s present state', () => {
    const shown = (...story: PastEvent[]) => [...folded(formsProjection, [created, ...story]).values()];
    expect(shown()).to.deep.equal([doc]);
    expect(shown(told('FormPublished'))).to.deep.equal([
      { ...doc, status: 'published', updated_at: time(2) },
    ]);
    const changed: PastEvent = {
      type: 'FormChanged',
      data: { ...data, title: 'Other', slug: 'other', fields: [] },
    };
    expect(shown(told('FormPublished'), changed, told('FormArchived'))).to.deep.equal([
      { ...doc, status: 'archived', title: 'Other', slug: 'other', fields: [], updated_at: time(4) },
    ]);
    expect(shown(told('FormPublished'), { type: 'FormDeleted', data })).to.deep.equal([]);
  });

  it('ignores events of unknown forms', () => {
    const rest = [told('FormPublished'), told('FormArchived'), { type: 'FormChanged', data }];
    expect(folded(formsProjection, rest).size).to.equal(0);
  });
});
