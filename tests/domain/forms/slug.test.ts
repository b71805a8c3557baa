import { expect } from 'chai';
import {
  type FormSlugEvent,
  formSlugStream,
  freeSlug,
  isSlug,
  takeSlug,
} from '../../../domain/forms/slug.ts';
import { BEGINNING, given } from '../../support/given.ts';

const claim = (formId: string, claimId: string) => ({ slug: 'report', formId, claimId });
const taken = (form: string, id: string): FormSlugEvent => ({
  type: 'FormSlugTaken',
  data: { slug: 'report', form_id: form, claim_id: id },
});
const freed = (form: string, id: string): FormSlugEvent => ({
  type: 'FormSlugFreed',
  data: { slug: 'report', form_id: form, claim_id: id },
});
/** Time of `taken`. */
const SINCE = BEGINNING + 1000;

describe('A slug', () => {
  const take = (form: string, id: string, usage: 'used' | 'unused' | 'gone') =>
    ((state, context) => takeSlug(state, claim(form, id), usage, context)) satisfies (
      ...args: [Parameters<typeof takeSlug>[0], Parameters<typeof takeSlug>[3]]
    ) => unknown;

  it('is claimed when no form holds it', () => {
    given(formSlugStream)
      .when(take('a', '1', 'gone'))
      .gives(taken('a', '1'));
    given(formSlugStream, taken('b', '1'), freed('b', '1'))
      .when(take('a', '2', 'gone'))
      .gives(taken('a', '2'));
  });

  it('is refused while another form uses it, at any age of the claim', () => {
    const held = given(formSlugStream, taken('b', '1'));
    held.when(take('a', '2', 'used')).isRefused('already_exists', { field: 'slug' });
    held.when(take('a', '2', 'used'), SINCE + 86_400_000).isRefused('already_exists');
  });

  it('is free a minute after an unused claim, and at once after the form’s deletion', () => {
    const held = given(formSlugStream, taken('b', '1'));
    held.when(take('a', '2', 'unused'), SINCE + 59_999).isRefused('already_exists');
    held.when(take('a', '2', 'unused'), SINCE + 60_000).gives(taken('a', '2'));
    held.when(take('a', '2', 'gone'), SINCE).gives(taken('a', '2'));
  });

  it('is claimed again only by the form that holds it', () => {
    const held = given(formSlugStream, taken('a', '1'));
    held.when(take('a', '1', 'used')).givesNothing();
    held.when(take('a', '2', 'used')).gives(taken('a', '2'));
  });

  it('is released only by its present claim', () => {
    const free = (form: string, id: string) =>
      given(formSlugStream, taken('a', '1'), taken('a', '2')).when((state) =>
        freeSlug(state, claim(form, id)),
      );
    free('a', '2').gives(freed('a', '2'));
    free('a', '1').givesNothing();
    free('b', '2').givesNothing();
    given(formSlugStream)
      .when((state) => freeSlug(state, claim('a', '1')))
      .givesNothing();
  });

  it('has a fixed syntax', () => {
    for (const slug of ['a', '0', 'a-b', 'a--', `a${'-'.repeat(62)}`])
      expect(isSlug(slug), slug).to.equal(true);
    for (const slug of ['', '-a', 'A', 'a_b', 'a.b', 'a/b', 'a b', 'ä', 'a\n', 'a'.repeat(64)]) {
      expect(isSlug(slug), slug).to.equal(false);
    }
  });
});
