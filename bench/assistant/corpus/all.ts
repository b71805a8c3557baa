import { bakery } from './bakery.ts';
import { clinic } from './clinic.ts';
import type { Business, LabelledDocument } from './document.ts';
import { festival } from './festival.ts';
import { fillers } from './fillers.ts';
import { lawOffice } from './law-office.ts';
import { logistics } from './logistics.ts';
import { machineShop } from './machine-shop.ts';
import { property } from './property.ts';
import { software } from './software.ts';

const businesses: readonly Business[] = [
  machineShop,
  property,
  clinic,
  logistics,
  lawOffice,
  software,
  bakery,
  festival,
];

/** All sources of the labelled set: sources with questions, and fillers. */
export const documents: readonly LabelledDocument[] = [
  ...businesses.flatMap((business) => business.documents),
  ...fillers,
];

/** Each question with the one source that answers it. */
export const answerable: readonly { readonly question: string; readonly sourceId: string }[] =
  documents.flatMap(({ id, questions }) => questions.map((question) => ({ question, sourceId: id })));

/** Questions that no source answers. */
export const unanswerable: readonly string[] = businesses.flatMap((business) => business.unanswerable);
