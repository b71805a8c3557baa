import type { LabelledDocument } from './document.ts';

/** Words that fill the patterns. The same pattern and number always get the same words. */

export const people =
  'Abel,Birgit,Chen,Dolores,Emeka,Freja,Giorgio,Hana,Ivo,Jasmin,Karim,Leona,Milan,Nora,Oskar'.split(',');
const families =
  'Almeida,Becker,Costa,Dvorak,Eriksen,Fontaine,Gruber,Horvat,Ito,Jansen,Keller,Lopez,Marino'.split(',');
export const towns =
  'Ghent,Malmo,Turin,Graz,Leeds,Nantes,Bergen,Split,Tartu,Cork,Bilbao,Aarhus,Lodz,Ulm'.split(',');
const months = 'January,February,March,April,May,June,July,August,September,October,November'.split(',');

export const pick = (list: readonly string[], n: number): string => list[n % list.length] ?? '';

export interface Words {
  readonly n: number;
  readonly who: string;
  readonly family: string;
  readonly town: string;
  readonly month: string;
  readonly day: number;
  readonly amount: number;
}

export const words = (pattern: number, n: number): Words => ({
  n: 100 + pattern * 37 + n,
  who: pick(people, n * 7 + pattern),
  family: pick(families, n * 5 + pattern * 3),
  town: pick(towns, n * 3 + pattern),
  month: pick(months, n + pattern * 2),
  day: 1 + ((n * 11 + pattern * 5) % 28),
  amount: 150 + ((n * 379 + pattern * 811) % 9000),
});

export type Pattern = (w: Words, id: string) => LabelledDocument;
