import type { Input } from '../entities/record-values.ts';
import type { PublicField } from './fields.ts';
import { instantOfLocal } from './local-time.ts';

/** Values as an HTML form sends them: texts, and nothing for an unticked checkbox. */

export type Texts = Readonly<Record<string, string | readonly string[]>>;

const WHOLE = /^[+-]?[0-9]{1,20}$/;
const DECIMAL = /^(-?)([0-9]*)(?:\.([0-9]+))?$/;

const YES = ['on', 'true', '1', 'yes'];
const NO = ['off', 'false', '0', 'no'];

/** Whether a text means a ticked checkbox. */
export const isTicked = (text: string): boolean => YES.includes(text.trim().toLowerCase());

/** Maximum length of a number's text. */
const MAX_NUMBER = 100;

/** Converts to plain notation, because browsers also send `.5` and `007`. */
const decimal = (text: string): string => {
  const parts = text.length <= MAX_NUMBER && /[0-9]/.test(text) ? DECIMAL.exec(text) : null;
  if (parts === null) return text;
  const [, sign = '', whole = '', fraction] = parts;
  return `${sign}${whole.replace(/^0+/, '') || '0'}${fraction === undefined ? '' : `.${fraction}`}`;
};

const fromText = ({ type }: PublicField, text: string, timeZone: string): unknown => {
  const trimmed = text.trim();
  switch (type) {
    case 'text':
    case 'enum':
      return text;
    case 'long_text':
      // HTML forms send line ends as CR LF.
      return text.replaceAll('\r\n', '\n');
    case 'integer':
      return WHOLE.test(trimmed) ? Number(trimmed) : trimmed;
    case 'decimal':
      return decimal(trimmed);
    case 'boolean':
      return isTicked(text) || (NO.includes(trimmed.toLowerCase()) ? false : trimmed);
    case 'date':
      return trimmed;
    case 'datetime':
      return instantOfLocal(trimmed, timeZone) ?? trimmed;
    default:
      return type satisfies never;
  }
};

/**
 * Converts texts to values by the fields' types; a text that does not convert stays a text and is refused later. A
 * blank text means no value. An unticked checkbox is `false`, or no value if the form requires the field.
 * @param timeZone the tenant's time zone, in which local times are read
 */
export const valuesOfTexts = (fields: readonly PublicField[], texts: Texts, timeZone: string): Input => {
  const values = new Map<string, unknown>(Object.entries(texts));
  for (const field of fields) {
    const { key, type, requiredByForm } = field;
    const text = Object.hasOwn(texts, key) ? texts[key] : undefined;
    if (text === undefined || (typeof text === 'string' && text.trim() === '')) {
      if (type === 'boolean' && !requiredByForm) values.set(key, false);
      else values.delete(key);
    } else if (typeof text === 'string') values.set(key, fromText(field, text, timeZone));
  }
  return Object.fromEntries(values);
};
