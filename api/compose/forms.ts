import { FormSlugs } from '../../application/form-slugs.ts';
import { FormSubmissions } from '../../application/form-submissions.ts';
import { Forms } from '../../application/forms.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import { formSubmitter } from '../../application/subscribers/form-submitter.ts';
import type { Core } from './core.ts';
import type { EntitiesArea } from './entities.ts';

/** Forms and what strangers submit by them. */
export interface FormsArea {
  readonly forms: Forms;
  readonly formSubmissions: FormSubmissions;
}

export const composeForms = (core: Core, { schemas, records }: EntitiesArea): FormsArea => {
  const { commands, states, stores, codec, directory, ids, clock } = core;
  const slugs = new FormSlugs({ commands, states, clock });
  return {
    forms: new Forms({ commands, schemas, directory, slugs }),
    formSubmissions: new FormSubmissions({ commands, states, events: stores.events, codec, records, ids }),
  };
};

export const formSubscribers = ({ formSubmissions }: FormsArea): readonly Subscriber[] => [
  formSubmitter({ submissions: formSubmissions }),
];
