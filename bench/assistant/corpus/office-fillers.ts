import { document, record } from './document.ts';
import type { Pattern } from './filler-words.ts';

/** Patterns of texts that every company has. */
export const officePatterns: readonly Pattern[] = [
  (w, id) =>
    record(id, `Travel expenses ${w.who} ${w.family}`, {
      Trip: `${w.town}, two days`,
      Train: w.amount % 200,
      Hotel: 80 + w.day,
      Paid: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    record(id, `Office supplies ${w.n}`, {
      Items: 'Paper, folders, toner',
      Total: w.amount % 500,
      Supplier: `${w.family} Stationers`,
      Received: `${w.day} ${w.month} by ${w.who}`,
    }),
  (w, id) =>
    record(id, `Phone list entry ${w.n}`, {
      Name: `${w.who} ${w.family}`,
      Town: w.town,
      Extension: 200 + w.day,
    }),
  (w, id) =>
    document(
      id,
      `Works outing to ${w.town}`,
      `The bus leaves at ${6 + (w.n % 3)}:30. ${w.who} collects ${w.day} euros from everybody. In the evening we eat at ${w.family}'s. Bring shoes for walking; it can rain in ${w.month}.`,
    ),
  ...(
    [
      'fire extinguisher',
      'first aid box',
      'ladder',
      'smoke detector',
      'emergency lamp',
      'kettle',
      'printer',
      'water dispenser',
      'desk chair',
      'projector',
      'vacuum cleaner',
      'fan heater',
      'whiteboard',
      'door closer',
      'hand dryer',
      'monitor arm',
      'paper shredder',
      'fridge',
      'dishwasher',
      'coat rack',
      'intercom',
      'label printer',
      'pallet jack',
      'hand drill',
    ] as const
  ).map(
    (thing): Pattern =>
      (w, id) =>
        record(id, `Inventory ${w.n} ${thing}`, {
          Thing: thing,
          Room: `${w.n % 4}.${w.day}`,
          Bought: `${w.month} ${2010 + (w.n % 14)}`,
          Price: w.amount % 600,
          Checked: `${w.day} ${w.month}, ${w.who} ${w.family}`,
        }),
  ),
];
