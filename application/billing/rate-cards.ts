import {
  RATE_CARD_ID,
  type RateCard,
  type ReplaceRateCard,
  rateCardOf,
  rateCardStream,
  replaceRateCard,
} from '../../domain/billing/rate-card.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { InvoiceBook } from './invoice-book.ts';

/** The default currency is the currency of the present card; for a first card, of the partner's home tenant. */
type NewRateCard = Omit<ReplaceRateCard, 'currency'> & { readonly currency?: string | undefined };

/** Currency for a partner without a home tenant; the same as the default currency of tenants. */
const DEFAULT_CURRENCY = 'EUR';

/** Rate cards (decisions, section 10); the partner comes from the credential. */
export class RateCards extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly partners: PartnerDirectory;
  readonly invoices: Pick<InvoiceBook, 'allLive'>;
}> {
  /**
   * Before the first `replace`: version 0 without prices, in the currency of the partner's home tenant.
   * @param read `refresh`: as stored now, since another node may have replaced the card
   */
  async get(partnerId: string, read: 'load' | 'refresh' = 'load'): Promise<RateCard> {
    const { state } = await this.deps.streams
      .of(rateCardStream, partnerScope(partnerId), RATE_CARD_ID)
      [read]();
    return rateCardOf(state, state.card?.currency ?? (await this.#currencyOf(partnerId)));
  }

  /** @throws `conflict` if `ifVersion` is not the card's version, or a live invoice has another currency */
  async replace(
    partnerId: string,
    wanted: NewRateCard,
    context: RequestContext,
  ): Promise<Written<{ card: RateCard }>> {
    const fallback = await this.#currencyOf(partnerId);
    const outcome = await this.deps.streams
      .of(rateCardStream, partnerScope(partnerId), RATE_CARD_ID)
      .execute(context, {
        prepare: async () => (await this.deps.invoices.allLive(partnerId)).map(({ currency }) => currency),
        decide: (state, _context, invoicedIn) => {
          const currency = wanted.currency ?? state.card?.currency ?? fallback;
          return replaceRateCard(state, { ...wanted, currency }, invoicedIn);
        },
      });
    return { card: rateCardOf(outcome.state, fallback), position: outcome.position };
  }

  async #currencyOf(partnerId: string): Promise<string> {
    const home = (await this.deps.partners.find(partnerId))?.home_tenant_id ?? undefined;
    const tenant = home === undefined ? undefined : await this.deps.directory.tenant(home);
    return tenant?.currency ?? DEFAULT_CURRENCY;
  }
}
