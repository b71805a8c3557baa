import { FormSlugs } from '../../application/forms/form-slugs.ts';
import { FormSubmissions, formSubmitter } from '../../application/forms/form-submissions.ts';
import { Forms } from '../../application/forms/forms.ts';
import { formRoutes } from '../routes/forms/forms.ts';
import { publicFormRoutes } from '../routes/forms/public-forms.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import type { EntitiesArea } from './entities.ts';

/** Forms and their public submissions. */
export const composeForms = (core: Core, { schemas, records }: EntitiesArea): Area => {
  const forms = new Forms({ ...core, schemas, slugs: new FormSlugs(core) });
  const formSubmissions = new FormSubmissions({ ...core, records });
  const deps = { ...core, forms, formSubmissions };
  return {
    routes: [...formRoutes(deps), ...publicFormRoutes(deps)],
    subscribers: [formSubmitter({ submissions: formSubmissions })],
  };
};
