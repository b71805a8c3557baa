import {
  type ExistingPartner,
  isPartnerId,
  type Partner,
  partnerStream,
} from '../../domain/partners/partner.ts';
import type { Streams } from '../core/commands/streams.ts';
import { PLATFORM } from '../core/events/stream-name.ts';

/** The partners there are, from their folded streams: what was created counts for the next request at once. */
export class PartnerDirectory {
  readonly #streams: Streams;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /** The partner if its stream is in memory; `unknown` when it must be loaded. */
  cached(partnerId: string): ExistingPartner | 'unknown' {
    const cached = this.#streams.of(partnerStream, PLATFORM, partnerId).cached();
    if (cached === undefined) return 'unknown';
    // The stream's name says which stream type folded it.
    const partner = cached.state as Partner;
    return partner.exists ? partner : 'unknown';
  }

  /** Nobody is unknown because of what this node remembers: where there seems to be none, the store is asked. */
  async find(partnerId: string): Promise<ExistingPartner | undefined> {
    if (!isPartnerId(partnerId)) return undefined;
    const cached = this.cached(partnerId);
    if (cached !== 'unknown') return cached;
    const { state } = await this.#streams.of(partnerStream, PLATFORM, partnerId).refresh();
    return state.exists ? state : undefined;
  }
}
