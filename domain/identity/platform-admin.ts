import { z } from 'zod';
import { notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { folded, type StreamType } from '../core/stream-type.ts';

/** A platform admin operates globally and belongs to no tenant (specification, Authentication 2). */

// Events

const person = { kind: 'person', id: 'admin_id' } as const;

export const PlatformAdminRegistered = defineEvent(
  'PlatformAdminRegistered',
  z.object({ admin_id: z.string(), email: z.string(), password_hash: z.string() }),
  { personal: { email: person, password_hash: person }, secret: ['password_hash'] },
);

export const PlatformAdminPasswordSet = defineEvent(
  'PlatformAdminPasswordSet',
  z.object({ admin_id: z.string(), password_hash: z.string() }),
  { personal: { password_hash: person }, secret: ['password_hash'] },
);

export const platformAdminEvents = [PlatformAdminRegistered, PlatformAdminPasswordSet] as const;
export type PlatformAdminEvent = EventOf<(typeof platformAdminEvents)[number]>;

// State

export interface RegisteredPlatformAdmin {
  readonly exists: true;
  readonly id: string;
  readonly email: string;
  readonly passwordHash: string;
}
type PlatformAdmin = { readonly exists: false } | RegisteredPlatformAdmin;

export const platformAdminStream: StreamType<PlatformAdmin, PlatformAdminEvent> = {
  category: 'admin',
  stateVersion: 1,
  initial: { exists: false },
  evolve: folded({
    PlatformAdminRegistered: (_state, { admin_id: id, email, password_hash: passwordHash }) => {
      return { exists: true, id, email, passwordHash };
    },
    PlatformAdminPasswordSet: (state, { password_hash: passwordHash }) =>
      state.exists ? { ...state, passwordHash } : state,
  }),
};

// Commands and decide

/** Registering the same id again changes nothing. */
export const registerPlatformAdmin = (
  state: PlatformAdmin,
  data: z.output<typeof PlatformAdminRegistered.schema>,
): readonly PlatformAdminEvent[] => (state.exists ? [] : decided(PlatformAdminRegistered, data));

/** Appends an event even for an equal password, because hashes are salted. @throws `not_found` */
export const setPlatformAdminPassword = (
  state: PlatformAdmin,
  passwordHash: string,
): readonly PlatformAdminEvent[] => {
  if (!state.exists) throw notFound();
  return decided(PlatformAdminPasswordSet, { admin_id: state.id, password_hash: passwordHash });
};
