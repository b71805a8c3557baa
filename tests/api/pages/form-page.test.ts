import { expect } from 'chai';
import { formPage } from '../../../api/pages/form-page.ts';
import type { PublicField } from '../../../domain/forms/fields.ts';

describe('The page of a form', () => {
  const field: PublicField = {
    key: 'news',
    label: 'News',
    type: 'boolean',
    required: false,
    requiredByForm: false,
    default: true,
  };
  const isChecked = (texts?: Record<string, string>): boolean =>
    formPage({
      title: 'Form',
      fields: [field],
      timeZone: 'UTC',
      action: 'submissions',
      submissionId: 'x',
      texts,
    }).includes(' checked>');

  it('returns a checkbox as it was sent, also when another page sent it as a word', () => {
    for (const yes of ['true', 'on', '1', 'Yes']) expect(isChecked({ news: yes }), yes).to.equal(true);
    for (const no of ['false', 'off', '0', 'No', '']) expect(isChecked({ news: no }), no).to.equal(false);
    expect(isChecked({}), 'unticked').to.equal(false);
    expect(isChecked(), 'the default').to.equal(true);
  });
});
