import {
  RATE_CARD_ID,
  type RateCard,
  type Rates,
  rateCardDecider,
  rateCardOf,
  replaceRateCard,
} from '../../domain/billing/rate-card.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { Directory } from '../directory.ts';
import type { PartnerDirectory } from '../partner-directory.ts';
import type { Position } from '../ports/event-store.ts';
import type { RequestContext } from '../request-context.ts';
import type { StreamStates } from '../stream-states.ts';
import type { InvoiceBook } from './invoice-book.ts';

export interface NewRateCard {
  /** Default: that of the card so far. */
  readonly currency?: string | undefined;
  readonly rates: Rates;
  /** Of `If-Match`. */
  readonly ifVersion: number | undefined;
}

/** As of a tenant that nothing was said of. */
const DEFAULT_CURRENCY = 'EUR';

/** Rate cards (decisions, section 10). The partner is the credential's. */
export class RateCards {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #directory: Directory;
  readonly #partners: PartnerDirectory;
  readonly #invoices: Pick<InvoiceBook, 'allLive'>;

  constructor(deps: {
    commands: CommandHandler;
    states: StreamStates;
    directory: Directory;
    partners: PartnerDirectory;
    invoices: Pick<InvoiceBook, 'allLive'>;
  }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#directory = deps.directory;
    this.#partners = deps.partners;
    this.#invoices = deps.invoices;
  }

  /** Version 0 without prices until one was put, in the currency of the partner's own tenant. */
  async get(partnerId: string): Promise<RateCard> {
    const { state } = await this.#states.load(partnerScope(partnerId), rateCardDecider, RATE_CARD_ID);
    return rateCardOf(state, state.card?.currency ?? (await this.#currencyOf(partnerId)));
  }

  /** @throws `conflict` for another version, or another currency than that of invoices */
  async replace(
    partnerId: string,
    wanted: NewRateCard,
    context: RequestContext,
  ): Promise<{ card: RateCard; position: Position | undefined }> {
    const fallback = await this.#currencyOf(partnerId);
    const outcome = await this.#commands.execute({
      tenantId: partnerScope(partnerId),
      decider: rateCardDecider,
      id: RATE_CARD_ID,
      cause: context.cause,
      again: context.again,
      prepare: async () => (await this.#invoices.allLive(partnerId)).map(({ currency }) => currency),
      decide: (state, _context, invoicedIn) => {
        const currency = wanted.currency ?? state.card?.currency ?? fallback;
        return replaceRateCard(state, { ...wanted, currency }, invoicedIn);
      },
    });
    return { card: rateCardOf(outcome.state, fallback), position: outcome.position };
  }

  async #currencyOf(partnerId: string): Promise<string> {
    const home = (await this.#partners.find(partnerId))?.home_tenant_id ?? undefined;
    const tenant = home === undefined ? undefined : await this.#directory.tenant(home);
    return tenant?.currency ?? DEFAULT_CURRENCY;
  }
}
