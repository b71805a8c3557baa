import { type DomainError, invalid } from '../../domain/core/errors.ts';

/** Parses `application/x-www-form-urlencoded` bodies. */

/** Maximum number of name-value pairs. */
const MAX_PAIRS = 1_000;

/** Names with a meaning in JavaScript; no field has them. */
const RESERVED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

export type FormValues = Readonly<Record<string, string | readonly string[]>>;

/** Collects names and values; a repeated name gives a list. */
export class FormFields {
  readonly #values = new Map<string, string | readonly string[]>();

  add(name: string, value: string): void {
    if (RESERVED.has(name)) return;
    const present = this.#values.get(name);
    this.#values.set(name, present === undefined ? value : [present, value].flat());
  }

  values(): FormValues {
    return Object.fromEntries(this.#values);
  }
}

const malformed = (message: string): DomainError => invalid([{ path: '', code: 'malformed_form', message }]);

const decode = (text: string): string => {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw malformed('The body is not a valid form.');
  }
};

/**
 * Names are literal: brackets and dots build no structure.
 * @throws {DomainError} 400
 */
export const parseForm = (text: string): FormValues => {
  const pairs = text.split('&', MAX_PAIRS + 1);
  if (pairs.length > MAX_PAIRS) throw malformed(`The form has more than ${MAX_PAIRS} values.`);
  const fields = new FormFields();
  for (const pair of pairs) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    fields.add(decode(at < 0 ? pair : pair.slice(0, at)), at < 0 ? '' : decode(pair.slice(at + 1)));
  }
  return fields.values();
};
