import { DomainError } from '../core/errors.ts';
import { truncate } from '../core/text.ts';

/** Templates of invoice texts (decisions, section 10, Profile): plain text with variables, filled in one pass. */

export const TEMPLATE_VARIABLES = ['customer', 'partner', 'meter', 'quantity', 'period'] as const;
export type TemplateVariable = (typeof TEMPLATE_VARIABLES)[number];
export type TemplateValues = Readonly<Record<TemplateVariable, string>>;

type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string; readonly closed: boolean };

const OPEN = '{{';
const CLOSE = '}}';

/** Only spaces may surround a name inside the braces. */
const nameIn = (inside: string): string => inside.replace(/^ +| +$/g, '');

const piecesOf = (template: string): readonly Piece[] => {
  const pieces: Piece[] = [];
  let at = 0;
  for (;;) {
    const open = template.indexOf(OPEN, at);
    if (open < 0) return [...pieces, { kind: 'text', text: template.slice(at) }];
    pieces.push({ kind: 'text', text: template.slice(at, open) });
    const close = template.indexOf(CLOSE, open + OPEN.length);
    const end = close < 0 ? template.length : close;
    const name = nameIn(template.slice(open + OPEN.length, end));
    pieces.push({ kind: 'variable', name, closed: close >= 0 });
    if (close < 0) return pieces;
    at = close + CLOSE.length;
  }
};

const isVariable = (name: string): name is TemplateVariable =>
  TEMPLATE_VARIABLES.some((variable) => variable === name);

/** Length at which the error truncates an unknown variable. */
const SHOWN = 64;

/**
 * @param field the template's name, for `details`
 * @throws `unknown_template_variable` (`details: {field, variable}`) for an unknown or unclosed variable
 */
export const checkTemplate = (template: string, field: string): void => {
  for (const piece of piecesOf(template)) {
    if (piece.kind === 'text' || (piece.closed && isVariable(piece.name))) continue;
    throw new DomainError(
      'unknown_template_variable',
      piece.closed ? 'The template has an unknown variable.' : 'A variable of the template is not closed.',
      { field, variable: truncate(piece.name, SHOWN) },
    );
  }
};

/** Fills in a checked template. Values are inserted as text; braces in them are not variables. */
export const renderTemplate = (template: string, values: TemplateValues): string =>
  piecesOf(template)
    .map((piece) => {
      if (piece.kind === 'text') return piece.text;
      return isVariable(piece.name) ? values[piece.name] : '';
    })
    .join('');
