import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defined, defineEvent, type EventOf } from '../core/event.ts';
import { type Changes, changedMembers, folded, type StreamType } from '../core/stream-type.ts';

/**
 * A partner, whose customers are tenants (decisions, section 3, Platform), in the platform's streams. Changes by the
 * partner itself are in streams of `partner_<id>`.
 */

// Events

const settings = z.object({
  name: z.string(),
  /** The partner's own tenant, whose ledger holds the partner's accounts and entries. */
  home_tenant_id: z.string().nullable(),
});

export const PartnerCreated = defineEvent('PartnerCreated', settings.extend({ partner_id: z.string() }));
export const PartnerChanged = defineEvent(
  'PartnerChanged',
  settings.partial().extend({ partner_id: z.string() }),
);

export const partnerEvents = [PartnerCreated, PartnerChanged] as const;
export type PartnerEvent = EventOf<(typeof partnerEvents)[number]>;

// State

export type PartnerSettings = z.output<typeof settings>;
export interface ExistingPartner extends PartnerSettings {
  readonly exists: true;
  readonly id: string;
  /** ms */
  readonly createdAt: number;
}
export type Partner = { readonly exists: false } | ExistingPartner;

export const partnerStream: StreamType<Partner, PartnerEvent> = {
  category: 'partner',
  stateVersion: 1,
  initial: { exists: false },
  evolve: folded({
    PartnerCreated: (_state, { partner_id: id, ...values }, { at }) => ({
      exists: true,
      id,
      createdAt: at,
      ...values,
    }),
    PartnerChanged: (state, { partner_id: _id, ...values }) =>
      state.exists ? { ...state, ...defined(values) } : state,
  }),
};

// Commands

export type ChangePartner = Changes<PartnerSettings>;

// Decide

const SLUG = /^[a-z][a-z0-9_]{0,39}$/;

/** A partner's streams are `partner_<id>.…`, so its id must not contain `-` or `.`. */
export const isPartnerId = (id: string): boolean => SLUG.test(id);

/** Tenant part of the partner's stream names; no tenant can have this id. */
export const partnerScope = (partnerId: string): string => `partner_${partnerId}`;

/** @throws `already_exists` */
export const createPartner = (
  state: Partner,
  { partnerId, ...settings }: PartnerSettings & { readonly partnerId: string },
): readonly PartnerEvent[] => {
  if (state.exists)
    throw new DomainError('already_exists', 'A partner with this id already exists.', { field: 'id' });
  return decided(PartnerCreated, { partner_id: partnerId, ...settings });
};

/** Equal values change nothing. @throws `not_found` */
export const changePartner = (state: Partner, command: ChangePartner): readonly PartnerEvent[] => {
  if (!state.exists) throw notFound();
  const { name, home_tenant_id } = command;
  const changed = changedMembers<PartnerSettings>(state, { name, home_tenant_id });
  if (Object.keys(changed).length === 0) return [];
  return decided(PartnerChanged, { partner_id: state.id, ...changed });
};
