import { environment } from './variables.ts';

const NAMES = Object.keys(environment.shape);
/** Variables of other programs that resemble ours. */
const OTHERS = new Set(['HOME', 'HOSTNAME', 'LOGLEVEL']);

/** Number of changed, added or missing characters between two texts. Not exact above `most`. */
const distance = (left: string, right: string, most: number): number => {
  if (Math.abs(left.length - right.length) > most) return most + 1;
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [index, character] of [...left].entries()) {
    const next = [index + 1];
    for (let at = 0; at < right.length; at += 1) {
      const changed = (row[at] ?? 0) + (character === right[at] ? 0 : 1);
      next.push(Math.min(changed, (row[at + 1] ?? 0) + 1, (next[at] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
};

const allowed = (name: string): number => (name.length < 8 ? 1 : 2);

interface MisspelledVariable {
  readonly variable: string;
  readonly meant: string;
}

/**
 * Variables that are set but have no effect: their names differ from a name of the configuration only in one or two
 * characters or in case.
 */
export const misspelledVariables = (
  variables: Readonly<Record<string, string | undefined>>,
): MisspelledVariable[] =>
  Object.keys(variables)
    .filter((name) => name.length <= 64 && !NAMES.includes(name) && !OTHERS.has(name))
    .flatMap((variable) => {
      const suggestion = NAMES.find(
        (name) => distance(variable.toUpperCase(), name, allowed(name)) <= allowed(name),
      );
      return suggestion === undefined ? [] : [{ variable, meant: suggestion }];
    });
