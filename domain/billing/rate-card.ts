import { z } from 'zod';
import { DomainError } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import { METERS, type Meter } from './shapes.ts';

/** A partner's rate card: wholesale and retail rates for each meter (decisions, section 10). One stream per partner. */

// Events

/** Up to six decimal places; no sign, exponent or redundant leading zeros. */
export const RATE = /^(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,6})?$/;

const rate = z.object({
  /** Minor units per unit, as decimal text. */
  wholesale: z.string(),
  retail: z.string(),
  /** Units free of charge in each calendar month (UTC). */
  included: z.number().optional(),
});

/** Holds the whole card, even if only a part of the card has changed. */
export const RateCardReplaced = defineEvent(
  'RateCardReplaced',
  z.object({ version: z.number(), currency: z.string(), rates: z.partialRecord(z.enum(METERS), rate) }),
);

export const rateCardEvents = [RateCardReplaced] as const;
export type RateCardEvent = EventOf<(typeof rateCardEvents)[number]>;

// State

export type Rate = Readonly<z.output<typeof rate>>;
export type Rates = Readonly<Partial<Record<Meter, Rate>>>;

/** The rate card in force. */
export interface RateCard {
  /** 0 when no card was stored: no usage has a price. */
  readonly version: number;
  readonly currency: string;
  readonly rates: Rates;
  /** ms; null for version 0. */
  readonly updatedAt: number | null;
}

/** `card` is undefined until the partner stores a rate card. */
export interface RateCardState {
  readonly card?: RateCard;
}

export const rateCardStream: StreamType<RateCardState, RateCardEvent> = {
  category: 'ratecard',
  stateVersion: 1,
  initial: {},
  evolve: (_state, event, meta) => ({ card: { ...event.data, updatedAt: meta.at } }),
};

/** Id of a partner's only card. */
export const RATE_CARD_ID = 'main';

export const rateCardOf = (state: RateCardState, currency: string): RateCard =>
  state.card ?? { version: 0, currency, rates: {}, updatedAt: null };

// Commands and decide

export interface ReplaceRateCard {
  readonly currency: string;
  readonly rates: Rates;
  /** The version that the caller expects. */
  readonly ifVersion?: number | undefined;
}

/**
 * Creates a new version even when values are equal. The currency must equal the currency of all live invoices.
 * @param invoicedIn currencies of the partner's live invoices
 * @throws `conflict`
 */
export const replaceRateCard = (
  state: RateCardState,
  { currency, rates, ifVersion }: ReplaceRateCard,
  invoicedIn: readonly string[],
): readonly RateCardEvent[] => {
  const version = state.card?.version ?? 0;
  if (ifVersion !== undefined && ifVersion !== version) {
    throw new DomainError(
      'conflict',
      'The rate card was changed in the meantime. Read it again, then retry.',
      { version },
    );
  }
  const other = invoicedIn.find((each) => each !== currency);
  if (other !== undefined) {
    throw new DomainError('conflict', 'The currency cannot be changed: invoices in another currency exist.', {
      currency: other,
    });
  }
  return decided(RateCardReplaced, { version: version + 1, currency, rates });
};
