import {
  type ExistingPartner,
  isPartnerId,
  type Partner,
  partnerDecider,
} from '../domain/partners/partner.ts';
import type { StreamStates } from './stream-states.ts';
import { PLATFORM, streamName } from './streams.ts';

/** The partners there are, from their folded streams: what was created counts for the next request at once. */
export class PartnerDirectory {
  readonly #states: StreamStates;

  constructor(states: StreamStates) {
    this.#states = states;
  }

  /** The partner if its stream is in memory; `unknown` when it must be loaded. */
  cached(partnerId: string): ExistingPartner | 'unknown' {
    const cached = this.#states.cached(streamName(PLATFORM, partnerDecider.category, partnerId));
    if (cached === undefined) return 'unknown';
    // The stream's name says which decider folded it.
    const partner = cached.state as Partner;
    return partner.exists ? partner : 'unknown';
  }

  /** Nobody is unknown because of what this node remembers: where there seems to be none, the store is asked. */
  async find(partnerId: string): Promise<ExistingPartner | undefined> {
    if (!isPartnerId(partnerId)) return undefined;
    const cached = this.cached(partnerId);
    if (cached !== 'unknown') return cached;
    const stream = streamName(PLATFORM, partnerDecider.category, partnerId);
    const partner = (await this.#states.refresh(stream, partnerDecider)).state as Partner;
    return partner.exists ? partner : undefined;
  }
}
