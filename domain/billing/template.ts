import { DomainError } from '../core/errors.ts';
import { truncate } from '../core/text.ts';

/** Templates of invoice texts (decisions, section 10, Profile): plain text with variables, filled in one pass. */

export const TEMPLATE_VARIABLES = ['customer', 'partner', 'meter', 'quantity', 'period'] as const;
type TemplateVariable = (typeof TEMPLATE_VARIABLES)[number];

const VARIABLE = /\{\{(.*?)(\}\}|$)/gs;

/** Only spaces may surround a name inside the braces. */
const nameIn = (inside: string): string => inside.replace(/^ +| +$/g, '');

const isVariable = (name: string): name is TemplateVariable =>
  TEMPLATE_VARIABLES.some((variable) => variable === name);

/** Length at which the error truncates an unknown variable. */
const SHOWN = 64;

/**
 * @param field the template's name, for `details`
 * @throws `unknown_template_variable` (`details: {field, variable}`) for an unknown or unclosed variable
 */
export const checkTemplate = (template: string, field: string): void => {
  for (const [, inside = '', close] of template.matchAll(VARIABLE)) {
    const name = nameIn(inside);
    if (close !== '' && isVariable(name)) continue;
    throw new DomainError(
      'unknown_template_variable',
      close === '' ? 'A variable of the template is not closed.' : 'The template has an unknown variable.',
      { field, variable: truncate(name, SHOWN) },
    );
  }
};

/** Fills in a checked template. Values are inserted as text; braces in them are not variables. */
export const renderTemplate = (
  template: string,
  values: Readonly<Record<TemplateVariable, string>>,
): string =>
  template.replace(VARIABLE, (_all, inside: string) => {
    const name = nameIn(inside);
    return isVariable(name) ? values[name] : '';
  });
