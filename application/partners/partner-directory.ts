import { PLATFORM } from '../../domain/core/platform.ts';
import { type ExistingPartner, isPartnerId, partnerStream } from '../../domain/partners/partner.ts';
import type { Streams } from '../core/commands/streams.ts';

/** Looks up partners in their folded streams, so that a new partner is found at once. */
export class PartnerDirectory {
  readonly #streams: Streams;

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /** Reads the store before it reports a partner as unknown. */
  async find(partnerId: string): Promise<ExistingPartner | undefined> {
    if (!isPartnerId(partnerId)) return undefined;
    const stream = this.#streams.of(partnerStream, PLATFORM, partnerId);
    const state = await stream.loadWhere(({ exists }) => exists);
    return state.exists ? state : undefined;
  }
}
