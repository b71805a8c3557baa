import fc from 'fast-check';
import { chainHash } from '../../../../application/core/events/hash-chain.ts';

/** Changes of an export that depend only on a seed. */

/** Makes a changed export from the lines of an export (without line feeds). */
export type Mutation = (lines: readonly Buffer[]) => Buffer;

const joined = (lines: readonly Buffer[]): Buffer =>
  Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));

const at = <T>(all: readonly T[], nth: number): T => {
  const one = all[nth % all.length];
  if (one === undefined) throw new Error('nothing to choose from');
  return one;
};

/** Changes one line as text. */
const inLine =
  (nth: number, change: (line: string) => string): Mutation =>
  (lines) =>
    joined(lines.with(nth % lines.length, Buffer.from(change(at(lines, nth).toString('utf8')))));

/** Changes one match of the pattern; appends a space to a line without a match. */
const inMatch =
  (pattern: RegExp, nth: number, change: (match: string) => string) =>
  (line: string): string => {
    const found = [...line.matchAll(pattern)];
    if (found.length === 0) return `${line} `;
    const match = at(found, nth);
    return line.slice(0, match.index) + change(match[0]) + line.slice(match.index + match[0].length);
  };

const VALUES = [
  ...['0', '-0', '0.0', '1.0', '1e0', '1E2', '01', '+1', '1e21', '1e+21', '1e999', '-1', '2.50', '.5', 'NaN'],
  ...['9007199254740991', '9007199254740993', '1000000000000000000000', 'null', 'true', 'false', '""'],
  ...[
    '"x"',
    '"\\ud83d"',
    '"\\uff5e"',
    '"😀"',
    '"v1:a:AAAA"',
    '[]',
    '{}',
    '[-0]',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":1}',
  ],
  ...[100, 253, 254, 255, 256, 257, 3000, 100_000].map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
];
const NUMBERS = ['$.0', '-0', '$e0', '0$', '$0', '-$', '$.5', '$E0', '$e999', ' $', '1$', '0.0', '"$"'];

const nat = fc.nat({ max: 1_000_000 });
const value = fc.constantFrom(...VALUES);

const bytes = fc
  .tuple(nat, nat, fc.nat(2), fc.uint8Array({ maxLength: 2 }))
  .map(([nth, place, cut, put]): Mutation => {
    return (lines) => {
      const line = at(lines, nth);
      const from = place % line.length;
      const changed = Buffer.concat([line.subarray(0, from), put, line.subarray(from + cut)]);
      return joined(lines.with(nth % lines.length, changed));
    };
  });

/** A number in a form that JSON may or may not allow. */
const numbers = fc.tuple(nat, nat, fc.constantFrom(...NUMBERS)).map(([nth, place, form]) =>
  inLine(
    nth,
    inMatch(/(?<=[":[,])\d+(\.\d+)?(?=[,}\]])/g, place, (number) => form.replaceAll('$', number)),
  ),
);

/** Repeats a member: before itself with another value, or after itself with the same. */
const duplicates = fc.tuple(nat, nat, value, fc.boolean()).map(([nth, place, other, isBefore]) =>
  inLine(
    nth,
    inMatch(/"([a-z_]+)":(\d+|true|false|"[^"\\]*")(?=[,}])|"data":(?=\{)/g, place, (member) => {
      const name = member.slice(0, member.indexOf(':'));
      if (isBefore || member.endsWith(':')) return `${name}:${other},${member}`;
      return `${member},${member}`;
    }),
  ),
);

/** Replaces, adds or removes a member. */
const members = fc
  .tuple(nat, nat, value, fc.constantFrom('change', 'add', 'remove'))
  .map(([nth, place, other, how]) =>
    inLine(
      nth,
      inMatch(/"[A-Za-z_$]+":(\d+|true|false|"[^"\\]*"),/g, place, (member) => {
        if (how === 'remove') return '';
        if (how === 'add') return `${member}"more":${other},`;
        return `${member.slice(0, member.indexOf(':') + 1)}${other},`;
      }),
    ),
  );

/** Inserts white space, which JSON may or may not allow, or escapes a letter. */
const spellings = fc
  .tuple(nat, nat, fc.constantFrom(' ', '\t', '\r', '\u00a0', '\ufeff', 'escape'))
  .map(([nth, place, how]) =>
    inLine(
      nth,
      how === 'escape'
        ? inMatch(/[a-z]/g, place, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
        : inMatch(/[{,:}]/g, place, (mark) => (place % 2 === 0 ? how + mark : mark + how)),
    ),
  );

const order = fc
  .tuple(nat, nat, fc.constantFrom('drop', 'repeat', 'swap', 'blank', 'crlf', 'bom', 'cut', 'rest'))
  .map(([nth, other, how]): Mutation => {
    return (lines) => {
      const [index, line] = [nth % lines.length, at(lines, nth)];
      const whole = joined(lines);
      switch (how) {
        case 'drop':
          return joined(lines.toSpliced(index, 1));
        case 'repeat':
          return joined(lines.toSpliced(other % lines.length, 0, line));
        case 'swap':
          return joined(lines.with(index, at(lines, other)).with(other % lines.length, line));
        case 'blank':
          return joined(lines.toSpliced(index, 0, Buffer.alloc(0)));
        case 'crlf':
          return joined(lines.with(index, Buffer.concat([line, Buffer.from('\r')])));
        case 'bom':
          return joined(lines.with(index, Buffer.concat([Buffer.from('\ufeff'), line])));
        case 'cut':
          return whole.subarray(0, other % whole.length);
        default:
          return Buffer.concat([whole, Buffer.from('{')]);
      }
    };
  });

/** The line with other stored data and a matching hash, as someone with access to the log could make it. */
const rewritten = (line: string, data: string, view: string): string => {
  const event = JSON.parse(line);
  const stored = String(event.sealed.metadata).replace(/"hash":"[0-9a-f]{64}",/, '');
  const previous = String(event.metadata.prev_hash);
  const hash = chainHash(previous, event.stream, event.revision, event.id, event.type, data, stored);
  const metadata = stored.replace(/\},(?="(occurred_at|impersonated_by)")/, `},"hash":"${hash}",`);
  const head = line.slice(0, line.indexOf('"data":'));
  return `${head}"data":${view},"metadata":${metadata},"sealed":${JSON.stringify({ data, metadata })}}`;
};

const stored = fc
  .tuple(nat, value, fc.constantFrom('same', 'parsed', 'null'), fc.boolean())
  .map(([nth, other, how, isWhole]) =>
    inLine(nth, (line) => {
      const data = isWhole ? other : `{"a":${other}}`;
      if (how === 'same') return rewritten(line, data, data);
      if (how === 'null') return rewritten(line, data, 'null');
      try {
        return rewritten(line, data, JSON.stringify(JSON.parse(data)));
      } catch {
        return rewritten(line, data, 'null');
      }
    }),
  );

export const mutations = (count: number, seed: number): Mutation[] =>
  fc.sample(fc.oneof(bytes, numbers, duplicates, members, spellings, order, stored), {
    numRuns: count,
    seed,
  });
