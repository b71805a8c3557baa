/** Safe HTML: a template escapes its values, except values of the type `Html`. */

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attribute values in quotes. */
export const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

type Part = Html | string | number | undefined | readonly (Html | undefined)[];

const rendered = (part: Part): string => {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part));
  return part.map(rendered).join('');
};

/** Renders `undefined` as nothing and a list as its parts in order. */
export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(texts.map((text, i) => text + rendered(parts[i])).join(''));

/** Attributes in order: `true` gives the name alone, `undefined` and `false` nothing. Names must be trusted. */
export const attributes = (values: Readonly<Record<string, string | number | boolean | undefined>>): Html =>
  new Html(
    Object.entries(values)
      .filter(([, value]) => value !== undefined && value !== false)
      .map(([name, value]) => (value === true ? ` ${name}` : ` ${name}="${escaped(String(value))}"`))
      .join(''),
  );
