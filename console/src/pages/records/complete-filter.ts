import type { components } from '../../../../client/src/index.ts';

/**
 * Suggests the next token of a filter from its text up to the caret. The server's grammar is the authority:
 * docs/expressions.md.
 */

type Kind = components['schemas']['Entity']['fields'][number]['type'];

export interface FilterName {
  readonly key: string;
  readonly label: string;
  readonly type: Kind;
  /** Values to suggest, with their descriptions. */
  readonly values?: readonly (readonly [value: string, label: string])[];
}

interface Offer {
  readonly text: string;
  readonly label: string;
  readonly detail?: string;
  readonly caret?: number;
}

interface Token {
  readonly kind: 'string' | 'number' | 'name' | 'operator';
  readonly text: string;
  readonly from: number;
}

const PATTERN =
  /\s*(?:(?<string>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|(?<number>-?\d[\d.]*)|(?<name>[A-Za-z_]\w*)|(?<operator>==|!=|<=|>=|&&|\|\||[<>!()[\],.]))/y;

/** @returns undefined for texts that are no expression */
const tokensOf = (text: string): readonly Token[] | undefined => {
  const tokens: Token[] = [];
  const pattern = new RegExp(PATTERN);
  while (text.slice(pattern.lastIndex).trim() !== '') {
    const { groups } = pattern.exec(text) ?? {};
    if (groups === undefined) return undefined;
    for (const kind of ['string', 'number', 'name', 'operator'] as const) {
      const found = groups[kind];
      if (found !== undefined) tokens.push({ kind, text: found, from: pattern.lastIndex - found.length });
    }
  }
  return tokens;
};

const isOpenString = ({ kind, text }: Token): boolean =>
  kind === 'string' && (text.length < 2 || !text.endsWith(text.slice(0, 1)) || text.endsWith('\\"'));

const RELATIONS = new Set(['==', '!=', '<', '<=', '>', '>=']);
const EQUAL: readonly Offer[] = [
  { text: '== ', label: '==', detail: 'is' },
  { text: '!= ', label: '!=', detail: 'is not, or is missing' },
  { text: 'in [', label: 'in [ ]', detail: 'is one of' },
];
const ORDER: readonly Offer[] = [
  { text: '< ', label: '<', detail: 'less than, before' },
  { text: '<= ', label: '<=', detail: 'at most' },
  { text: '> ', label: '>', detail: 'more than, after' },
  { text: '>= ', label: '>=', detail: 'at least' },
];
const METHODS = ['contains', 'startsWith', 'endsWith'] as const;
const JOINS: readonly Offer[] = [
  { text: '&& ', label: '&&', detail: 'and' },
  { text: '|| ', label: '||', detail: 'or' },
];
const TEXTS: ReadonlySet<Kind> = new Set(['text', 'long_text', 'reference', 'user']);

const relationsOf = (type: Kind): readonly Offer[] => {
  switch (type) {
    case 'text':
    case 'long_text':
    case 'integer':
    case 'decimal':
    case 'date':
    case 'datetime':
    case 'reference':
    case 'user':
      return [...EQUAL, ...ORDER];
    case 'boolean':
    case 'enum':
      return EQUAL;
    case 'json':
      return EQUAL.slice(0, 2);
    default:
      return type satisfies never;
  }
};

const quoted = (text: string): string => JSON.stringify(text);

const valuesOf = ({ type, values }: FilterName, now: Date): readonly Offer[] => {
  const none = { text: 'null ', label: 'null', detail: 'no value' };
  const own = (values ?? []).map(([value, label]) => ({
    text: `${quoted(value)} `,
    label: quoted(value),
    ...(label === value ? {} : { detail: label }),
  }));
  // In the reader's time zone; this locale writes days as the API does.
  const today = now.toLocaleDateString('sv-SE');
  switch (type) {
    case 'boolean':
      return [{ text: 'true ', label: 'true' }, { text: 'false ', label: 'false' }, none];
    case 'date':
      return [{ text: `"${today}" `, label: `"${today}"`, detail: 'today' }, none];
    case 'datetime':
      return [
        { text: 'now() ', label: 'now()', detail: 'this moment' },
        {
          text: `timestamp("${today}T00:00:00Z") `,
          label: `timestamp("${today}T00:00:00Z")`,
          detail: 'a moment',
        },
        none,
      ];
    case 'text':
    case 'long_text':
    case 'enum':
    case 'reference':
    case 'user':
      return own.length > 0
        ? [...own, none]
        : [{ text: '""', label: '" "', detail: 'a text', caret: 1 }, none];
    case 'integer':
    case 'decimal':
    case 'json':
      return [none];
    default:
      return type satisfies never;
  }
};

const MOST = 12;

/** @param caret suggestions replace the word that ends there */
export const completeFilter = (text: string, caret: number, names: readonly FilterName[], now: Date) => {
  const before = text.slice(0, caret);
  if (before.trimStart().startsWith('{')) return undefined;
  const tokens = tokensOf(before);
  if (tokens === undefined) return undefined;
  const last = tokens.at(-1);
  const isWord =
    last !== undefined &&
    (last.kind === 'name' || isOpenString(last)) &&
    !/\s$/.test(isOpenString(last) ? 'x' : before);
  const word = isWord ? last.text : '';
  const from = isWord ? last.from : caret;
  const known = isWord ? tokens.slice(0, -1) : tokens;
  const offers = nextOf(known, names, now, isWord && last.kind === 'string');
  const wanted = word.toLowerCase();
  const suggestions = offers
    .filter(({ text: one, label, detail = '' }) =>
      [one, label, `"${detail}`, detail].some((part) => part.toLowerCase().startsWith(wanted)),
    )
    // Inside a string, only known values are suggested.
    .filter(({ text: one }) => last?.kind !== 'string' || !isWord || (one.startsWith('"') && one !== '""'))
    // A complete word needs no suggestion.
    .filter(({ text: one }) => one.trim() !== word)
    .slice(0, MOST);
  // An operator directly after a name needs a space between them.
  const needsSpace = from > 0 && /[\w"\])]/.test(text[from - 1] ?? '') && !isWord;
  return {
    from,
    to: caret,
    suggestions: needsSpace
      ? suggestions.map((one) =>
          one.text.startsWith('.')
            ? one
            : { ...one, text: ` ${one.text}`, ...(one.caret === undefined ? {} : { caret: one.caret + 1 }) },
        )
      : suggestions,
  };
};

const nextOf = (
  tokens: readonly Token[],
  names: readonly FilterName[],
  now: Date,
  isInString: boolean,
): readonly Offer[] => {
  const last = tokens.at(-1);
  const named = (token: Token | undefined): FilterName | undefined =>
    token?.kind === 'name' ? names.find(({ key }) => key === token.text) : undefined;
  // After "field.", the functions of texts are suggested.
  if (last?.text === '.') {
    const field = named(tokens.at(-2));
    if (field === undefined || !TEXTS.has(field.type)) return [];
    return METHODS.map((method) => ({
      text: `${method}("")`,
      label: `${method}( )`,
      caret: method.length + 2,
    }));
  }
  const field = named(last);
  if (field !== undefined && !isInString) {
    const methods = TEXTS.has(field.type) ? METHODS : [];
    return [
      ...relationsOf(field.type),
      ...(field.type === 'boolean' ? JOINS : []),
      ...methods.map((method) => ({
        text: `.${method}("")`,
        label: `.${method}( )`,
        detail: 'of a text',
        caret: method.length + 3,
      })),
    ];
  }
  if (last !== undefined && RELATIONS.has(last.text)) {
    const left = named(tokens.at(-2));
    return left === undefined ? [] : valuesOf(left, now);
  }
  const listed = listFieldOf(tokens, named);
  if (listed !== undefined)
    return valuesOf(listed, now).map(({ text, ...one }) => ({ ...one, text: text.trimEnd() }));
  if (isInString) return [];
  const isEnd =
    last !== undefined &&
    (last.kind === 'string' ||
      last.kind === 'number' ||
      [')', ']', 'true', 'false', 'null'].includes(last.text));
  if (isEnd) return JOINS;
  if (last !== undefined && last.kind === 'name') return [];
  return [
    ...names.map(({ key, label, type }) => ({
      text: `${key} `,
      label: key,
      detail: label === key ? type : `${label}, ${type}`,
    })),
    { text: 'has()', label: 'has( )', detail: 'has a value', caret: 4 },
  ];
};

/** The field before `in [` while its list is open. */
const listFieldOf = (
  tokens: readonly Token[],
  named: (token: Token | undefined) => FilterName | undefined,
): FilterName | undefined => {
  const last = tokens.at(-1)?.text;
  if (last !== '[' && last !== ',') return undefined;
  const open = tokens.findLastIndex(({ text }) => text === '[');
  return open > 1 && tokens[open - 1]?.text === 'in' ? named(tokens[open - 2]) : undefined;
};
