import { document, type LabelledDocument, record } from './document.ts';
import { type Pattern, people, pick, towns, words } from './filler-words.ts';
import { officePatterns } from './office-fillers.ts';

/**
 * Further everyday records of the same companies, about other customers, days and things. They make the right source
 * harder to find. They are generated from patterns, are equal in each run, and answer no question of the labelled
 * set.
 */

/** Each pattern is filled this many times. */
const TIMES = 15;

const patterns: readonly Pattern[] = [
  (w, id) =>
    record(id, `Order ${w.n} ${w.family} Waterworks`, {
      Customer: `${w.family} Waterworks`,
      City: w.town,
      Item: `${1 + (w.n % 5)} submersible pumps, type SB-${w.n % 60}`,
      Value: `${w.amount} euros`,
      Sales: w.who,
    }),
  (w, id) =>
    record(id, `Work order ${w.n} grinding`, {
      Part: `Shaft ${w.n}-${w.day}`,
      Quantity: w.amount % 90,
      Due: `${w.day} ${w.month}`,
      Operator: `${w.who} ${w.family}`,
      Remark: 'Second operation after hardening',
    }),
  (w, id) =>
    record(id, `Calibration caliper ${w.n}`, {
      Tool: `Vernier caliper ${w.n}`,
      Result: 'Within tolerance',
      Checked: `${w.day} ${w.month} by ${w.who}`,
      Location: `Measuring room, drawer ${w.day}`,
    }),
  (w, id) =>
    document(
      id,
      `Visit report ${w.town} in ${w.month}`,
      `${w.who} visited ${w.family} Engineering in ${w.town}. They are satisfied with the spare parts and plan to replace two gear pumps next year. A quote was sent for ${w.amount} euros. Next call in the week of ${w.day} ${w.month}.`,
    ),
  (w, id) =>
    record(id, `Tenancy ${w.family} Road ${w.day}`, {
      Tenant: `${w.who} ${w.family}`,
      Rent: `${w.amount % 1800} a month`,
      'Moved in': `${w.day} ${w.month}`,
      Floor: w.n % 6,
      Keys: 'Three',
    }),
  (w, id) =>
    record(id, `Repair ${w.n} ${w.town} House`, {
      Building: `${w.town} House`,
      Problem: 'Window handle loose in the kitchen',
      Contractor: `${w.family} Joinery`,
      Cost: w.amount % 300,
      Done: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    record(id, `Meter reading ${w.n}`, {
      Building: `${w.family} Terrace`,
      Water: `${w.amount} cubic metres`,
      Electricity: `${w.amount * 7} kilowatt hours`,
      Read: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    document(
      id,
      `Newsletter for residents of ${w.town} Gardens, ${w.month}`,
      `The window cleaner comes on the ${w.day}th. ${w.who} from the office is on leave in the following week, ${pick(people, w.n)} stands in. The hedge was trimmed, and the book exchange in the hall has a new shelf.`,
    ),
  (w, id) =>
    record(id, `Patient ${w.who}, guinea pig`, {
      Owner: `${w.family} family`,
      Reason: 'Claws trimmed, teeth checked',
      Weight: `${600 + (w.amount % 500)} g`,
      Seen: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    record(id, `Patient ${w.family}'s dog number ${w.n}`, {
      Breed: 'Mixed breed',
      Reason: 'Yearly check and vaccination',
      Finding: 'Healthy, slight tartar',
      Next: `${w.month} next year`,
    }),
  (w, id) =>
    record(id, `Laboratory ${w.n}`, {
      Sample: 'Urine of a cat',
      Owner: `${w.who} ${w.family}`,
      Result: `Specific gravity 1.0${10 + (w.day % 40)}, no crystals`,
      Date: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    document(
      id,
      `Team meeting of the practice, ${w.day} ${w.month}`,
      `${w.who} reported on the course in ${w.town}. The telephone is answered by two people in the first hour. Surgical towels were reordered for ${w.amount} euros. ${w.family} brings cake next time.`,
    ),
  (w, id) =>
    record(id, `Shipment ${80000 + w.n} furniture`, {
      Customer: `${w.family} Home`,
      Route: `${w.town} to ${pick(towns, w.n)}`,
      Pallets: w.amount % 33,
      Delivered: `${w.day} ${w.month}, signed by ${w.who}`,
    }),
  (w, id) =>
    record(id, `Tyre change trailer ${w.n}`, {
      Axle: 1 + (w.n % 3),
      Mileage: w.amount * 31,
      Workshop: `${w.family} in ${w.town}`,
      Cost: w.amount % 900,
    }),
  (w, id) =>
    record(id, `Customer ${w.family} Paper`, {
      City: w.town,
      Loads: `${w.day} a month`,
      Contact: w.who,
      'Payment terms': '45 days',
    }),
  (w, id) =>
    document(
      id,
      `Shift log of the warehouse, ${w.day} ${w.month}`,
      `${w.amount % 700} parcels picked, ${w.day} lines short. The printer at packing table ${w.n % 9} was replaced. ${w.who} trained two temporary workers. Handover to ${w.family} at 22:00 without remarks.`,
    ),
  (w, id) =>
    record(id, `Matter ${w.family} boundary wall`, {
      Client: `${w.who} ${w.family}`,
      Question: 'Who pays for the repair of a garden wall',
      Opened: `${w.day} ${w.month}`,
      Clerk: pick(people, w.n),
    }),
  (w, id) =>
    record(id, `Company formation ${w.family} Design`, {
      Client: `${w.family} Design Ltd`,
      Shares: w.amount,
      Registered: `${w.day} ${w.month}`,
      Office: w.town,
    }),
  (w, id) =>
    record(id, `Matter speeding fine ${w.n}`, {
      Client: `${w.who} ${w.family}`,
      Place: `Near ${w.town}`,
      Fine: w.amount % 400,
      Outcome: 'Paid, no points',
    }),
  (w, id) =>
    document(
      id,
      `Telephone note ${w.day} ${w.month}`,
      `${w.who} ${w.family} called about the purchase of a flat in ${w.town}. The draft deed goes out tomorrow. Notary appointment proposed for the week after. Fee estimate ${w.amount % 3000}.`,
    ),
  (w, id) =>
    record(id, `Ticket ${w.n} export of contacts`, {
      Customer: `${w.family} Optics`,
      Problem: 'Wants the phone numbers in a separate column',
      Answer: `Template explained by ${w.who}`,
      Closed: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    record(id, `Bug ${6000 + w.n}`, {
      Report: `Button ${w.day} overlaps the title on small screens`,
      Reporter: `${w.who} ${w.family}`,
      Fix: `Released in ${w.month}`,
      Priority: 'Low',
    }),
  (w, id) =>
    record(id, `Customer ${w.family} Outdoor`, {
      Plan: 'Team',
      Seats: w.amount % 150,
      Country: w.town,
      Renewal: `${w.day} ${w.month}`,
    }),
  (w, id) =>
    document(
      id,
      `Retrospective of sprint ${w.n}`,
      `We finished ${w.day} of ${w.day + 3} tasks. Reviews took long because ${w.who} was ill. ${w.family} suggests pairing on larger changes. The demo for ${w.town} went well; the chart library was updated.`,
    ),
  (w, id) =>
    record(id, `Order ${w.n} canteen ${w.town}`, {
      Rolls: w.amount % 400,
      Pretzels: w.day * 4,
      Delivery: `${w.day} ${w.month}`,
      Driver: w.who,
    }),
  (w, id) =>
    record(id, `Birthday cake ${w.family}`, {
      Cake: 'Sponge with strawberries',
      Text: `Happy birthday ${w.who}`,
      Pickup: `${w.day} ${w.month}`,
      Price: w.amount % 90,
    }),
  (w, id) =>
    record(id, `Temperature log cold room ${w.n}`, {
      Morning: `${2 + (w.n % 3)} degrees`,
      Evening: `${3 + (w.n % 2)} degrees`,
      Date: `${w.day} ${w.month}`,
      Initials: w.who,
    }),
  (w, id) =>
    document(
      id,
      `Tasting of new seeds bread, ${w.day} ${w.month}`,
      `${w.who} and ${w.family} tasted three loaves with sunflower and pumpkin seeds. The second had the best crumb. It goes to the shop in ${w.town} for a trial at ${w.day % 5}.${w.day + 20}.`,
    ),
  (w, id) =>
    record(id, `Artist ${w.family} and the ${w.town} Band`, {
      Fee: w.amount,
      Slot: `Friday ${14 + (w.n % 6)}:00, forest stage`,
      Hotel: `${w.day % 7} rooms`,
      Agent: w.who,
    }),
  (w, id) =>
    record(id, `Volunteer ${w.who} ${w.family}`, {
      Team: 'Set-up and breakdown',
      Days: w.day % 6,
      Shirt: 'Medium',
      Arrives: `From ${w.town} by train`,
    }),
  (w, id) =>
    record(id, `Ticket sales week ${w.n}`, {
      'Day tickets': w.amount % 700,
      'Weekend tickets': w.day * 12,
      Channel: `Record shop in ${w.town}`,
      Reported: w.who,
    }),
  (w, id) =>
    document(
      id,
      `Walk over the site, ${w.day} ${w.month}`,
      `${w.who} and ${w.family} walked the meadow. The path to the showers needs gravel, about ${w.day} cubic metres. Signposts from last time are stored in ${w.town}. Cost estimate ${w.amount % 2000}.`,
    ),
  ...officePatterns,
];

export const fillers: readonly LabelledDocument[] = patterns.flatMap((fill, pattern) =>
  Array.from({ length: TIMES }, (_, n) => fill(words(pattern, n), `filler-${pattern}-${n}`)),
);
