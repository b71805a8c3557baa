import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import { grants, SCOPES, type Scope } from '../identity/scopes.ts';

/**
 * An extension of a tenant (specification, Authentication 4; decisions, sections 3 and 6). It is installed inactive;
 * only an active extension can be loaded. Its id is the manifest's `ext_id`, so a reinstallation continues the
 * same stream.
 */

export const EXT_ID = /^[a-z0-9][a-z0-9._-]{0,63}$/;

// Events

export const ExtensionInstalled = defineEvent(
  'ExtensionInstalled',
  z.object({
    ext_id: z.string(),
    name: z.string(),
    version: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    url: z.string().nullable(),
    created_by: z.string(),
  }),
);
export const ExtensionActivated = defineEvent('ExtensionActivated', z.object({ ext_id: z.string() }));
export const ExtensionDeactivated = defineEvent('ExtensionDeactivated', z.object({ ext_id: z.string() }));
export const ExtensionUninstalled = defineEvent('ExtensionUninstalled', z.object({ ext_id: z.string() }));
/** A person loaded the extension. `issued_at` is the token's `iat`, seconds since 1970. */
export const ExtensionTokenMinted = defineEvent(
  'ExtensionTokenMinted',
  z.object({ ext_id: z.string(), user_id: z.string(), issued_at: z.int() }),
);

export const extensionEvents = [
  ExtensionInstalled,
  ExtensionActivated,
  ExtensionDeactivated,
  ExtensionUninstalled,
  ExtensionTokenMinted,
] as const;
export type ExtensionEvent = EventOf<(typeof extensionEvents)[number]>;

// State

export interface InstalledExtension {
  readonly installed: true;
  readonly extId: string;
  readonly name: string;
  readonly version: string;
  readonly scopes: readonly Scope[];
  readonly url: string | null;
  readonly state: 'inactive' | 'active';
  readonly createdBy: string;
  /** Times in ms. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Seconds since 1970; tokens with an earlier `iat` belong to an activation that has ended. */
  readonly tokensFrom: number;
  /** Latest `iat` of the extension's tokens; 0 if there is none. */
  readonly lastIssuedAt: number;
}
export type Extension = { readonly installed: false; readonly tokensFrom: number } | InstalledExtension;

/**
 * Earliest `iat` (seconds) of a valid token after an activation ends. `iat` has whole seconds, so tokens of the
 * activation's last second are refused too. Never decreases: tokens of an earlier installation may have a later `iat`.
 */
const tokensFromAfter = (state: Extension, at: number): number =>
  state.installed && state.state === 'active'
    ? Math.max(Math.floor(at / 1000) + 1, state.lastIssuedAt + 1, state.tokensFrom)
    : state.tokensFrom;

const onInstalled = onlyIn((state: Extension): state is InstalledExtension => state.installed);

export const extensionStream: StreamType<Extension, ExtensionEvent> = {
  category: 'extension',
  stateVersion: 2,
  initial: { installed: false, tokensFrom: 0 },
  evolve: folded({
    ExtensionInstalled: ({ tokensFrom }, data, { at }) => ({
      installed: true,
      extId: data.ext_id,
      name: data.name,
      version: data.version,
      scopes: data.scopes,
      url: data.url,
      state: 'inactive',
      createdBy: data.created_by,
      createdAt: at,
      updatedAt: at,
      tokensFrom,
      lastIssuedAt: 0,
    }),
    ExtensionActivated: onInstalled((state, _data, { at }) => ({ ...state, state: 'active', updatedAt: at })),
    ExtensionDeactivated: onInstalled((state, _data, { at }) => ({
      ...state,
      state: 'inactive',
      updatedAt: at,
      tokensFrom: tokensFromAfter(state, at),
    })),
    ExtensionUninstalled: onInstalled((state, _data, { at }) => ({
      installed: false,
      tokensFrom: tokensFromAfter(state, at),
    })),
    ExtensionTokenMinted: onInstalled((state, { issued_at }) => ({
      ...state,
      lastIssuedAt: Math.max(state.lastIssuedAt, issued_at),
    })),
  }),
};

// Commands

export type InstallExtension = Pick<
  InstalledExtension,
  'extId' | 'name' | 'version' | 'scopes' | 'url' | 'createdBy'
>;

// Decide

/** @throws `already_exists` while the extension is installed */
export const installExtension = (state: Extension, command: InstallExtension): readonly ExtensionEvent[] => {
  if (state.installed) {
    throw new DomainError('already_exists', 'This extension is already installed.', { field: 'ext_id' });
  }
  return decided(ExtensionInstalled, {
    ext_id: command.extId,
    name: command.name,
    version: command.version,
    scopes: [...new Set(command.scopes)],
    url: command.url,
    created_by: command.createdBy,
  });
};

/** A repeated command gives no events. @throws `not_found` */
export const activateExtension = (state: Extension): readonly ExtensionEvent[] => {
  if (!state.installed) throw notFound();
  return state.state === 'active' ? [] : decided(ExtensionActivated, { ext_id: state.extId });
};

/** A repeated command gives no events. @throws `not_found` */
export const deactivateExtension = (state: Extension): readonly ExtensionEvent[] => {
  if (!state.installed) throw notFound();
  return state.state === 'inactive' ? [] : decided(ExtensionDeactivated, { ext_id: state.extId });
};

/** @throws `not_found` */
export const uninstallExtension = (state: Extension): readonly ExtensionEvent[] => {
  if (!state.installed) throw notFound();
  return decided(ExtensionUninstalled, { ext_id: state.extId });
};

/** Seconds that a token's `iat` may lie ahead of now: half the clock skew that verification allows. */
const MAX_AHEAD = 30;

/**
 * Mints a token with `iat` now, or at `tokensFrom` if that is later: each deactivation after a mint within the same
 * second moves `tokensFrom` one second further. An `iat` must not be more than {@link MAX_AHEAD} seconds ahead of now.
 * @throws `not_found`, `invalid_transition` unless the extension is active, `unavailable` for an `iat` too far ahead
 */
export const mintExtensionToken = (
  state: Extension,
  userId: string,
  context: DecisionContext,
): readonly ExtensionEvent[] => {
  if (!state.installed) throw notFound();
  if (state.state !== 'active') {
    throw new DomainError('invalid_transition', 'The extension is not active.', {
      state: state.state,
      allowed: ['active'],
    });
  }
  const now = Math.floor(context.now / 1000);
  const issued_at = Math.max(now, state.tokensFrom);
  if (issued_at > now + MAX_AHEAD) {
    throw new DomainError(
      'unavailable',
      'The extension was switched off and on too often within a short time. Try again later.',
      { retry_after: issued_at - now - MAX_AHEAD },
    );
  }
  return decided(ExtensionTokenMinted, { ext_id: state.extId, user_id: userId, issued_at });
};

/**
 * Scopes of an extension's token that the installed manifest still grants.
 * @returns undefined when the token has ended
 */
export const scopesOfToken = (
  state: Extension,
  token: { readonly scopes: readonly Scope[]; readonly iat: number },
): readonly Scope[] | undefined => {
  if (!state.installed || state.state !== 'active' || token.iat < state.tokensFrom) return undefined;
  return token.scopes.filter((scope) => grants(state.scopes, scope));
};
