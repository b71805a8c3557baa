import { DomainError } from '../core/errors.ts';
import type { Filter } from './filter-tree.ts';
import { parseObjectForm } from './object-form.ts';
import { parseExpression } from './parser.ts';
import { resolveFilter } from './resolve.ts';
import { type Expression, ExpressionError, type FieldSpecs } from './tree.ts';

export type { Filter, FilterField, FilterValue } from './filter-tree.ts';
export { type FilteredRecord, matches } from './matches.ts';

/**
 * Parses and checks a filter in either form (decisions, section 5).
 * @param input the text form, or the object form
 * @throws `invalid_filter` with `details.offset` (UTF-16 units; 0 in the object form) and, if known, `details.path`
 */
export function parseFilter(input: unknown, fields: FieldSpecs): Filter {
  try {
    return resolveFilter(treeOf(input, fields), fields);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    const { message, offset, path } = error;
    throw new DomainError('invalid_filter', message, { offset, ...(path !== undefined && { path }) });
  }
}

/** Parses `?filter=`: a text that begins with `{` is the object form as JSON. @throws `invalid_filter` */
export function parseFilterText(text: string, fields: FieldSpecs): Filter {
  return text.trimStart().startsWith('{') ? parseFilter(fromJson(text), fields) : parseFilter(text, fields);
}

/** Both forms give the same tree. @throws {ExpressionError} */
function treeOf(input: unknown, fields: FieldSpecs): Expression {
  if (typeof input === 'string') return parseExpression(input);
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    return parseObjectForm(input, fields);
  }
  throw new ExpressionError('A filter must be a string or an object.', 0);
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const offset = Number(/at position (\d+)/.exec(String(error))?.[1] ?? text.length);
    throw new DomainError('invalid_filter', 'The filter begins with { but is not valid JSON.', { offset });
  }
}
