import { notFound } from '../../domain/core/errors.ts';
import {
  activateExtension,
  deactivateExtension,
  type Extension,
  type ExtensionEvent,
  extensionStream,
  type InstallExtension,
  type InstalledExtension,
  installExtension,
  mintExtensionToken,
  uninstallExtension,
} from '../../domain/extensions/extension.ts';
import type { Written } from '../core/commands/command.ts';
import type { UserPrincipal } from '../core/commands/principal.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import { EXTENSION_TOKEN_SECONDS, type ExtensionClaims } from '../identity/authentication-claims.ts';
import type { Position } from '../ports/event-store.ts';
import type { TokenFamily } from '../ports/tokens.ts';

type Changed = Written<{ readonly extension: InstalledExtension }>;

/** Use cases on extensions (specification, Authentication 4; decisions, section 6). */
export class Extensions extends WithDeps<{
  streams: Streams;
  /** The tenant token family, whose key signs extension tokens. */
  tokens: Pick<TokenFamily<ExtensionClaims>, 'sign'>;
}> {
  /** Installs an extension, inactive at first. @throws `already_exists` while it is installed */
  install(tenantId: string, manifest: InstallExtension, context: RequestContext): Promise<Changed> {
    return this.#changed(tenantId, manifest.extId, context, (state) => installExtension(state, manifest));
  }

  /** @throws `not_found` */
  activate(tenantId: string, extId: string, context: RequestContext): Promise<Changed> {
    return this.#changed(tenantId, extId, context, activateExtension);
  }

  /** Deactivates the extension and revokes its tokens. @throws `not_found` */
  deactivate(tenantId: string, extId: string, context: RequestContext): Promise<Changed> {
    return this.#changed(tenantId, extId, context, deactivateExtension);
  }

  /** Uninstalls the extension and revokes its tokens; it can be installed again. @throws `not_found` */
  async uninstall(tenantId: string, extId: string, context: RequestContext): Promise<Position | undefined> {
    return (await this.#stream(tenantId, extId).execute(context, uninstallExtension)).position;
  }

  /**
   * Mints a token for the person who loads the extension.
   * @throws `not_found`, `invalid_transition` for an inactive extension, `unavailable` after many deactivations in a
   * short time
   */
  async mintToken(
    person: UserPrincipal,
    extId: string,
    context: RequestContext,
  ): Promise<Written<{ token: string }>> {
    const { tenantId, userId, email, role, impersonatedBy } = person;
    const { state, events, position } = await this.#stream(tenantId, extId).execute(context, (current, at) =>
      mintExtensionToken(current, userId, at),
    );
    const minted = events.find((event) => event.type === 'ExtensionTokenMinted');
    if (!state.installed || minted === undefined) throw notFound();
    const claims: ExtensionClaims = {
      sub: userId,
      email,
      tenant_id: tenantId,
      role,
      ext_id: extId,
      scopes: [...state.scopes],
      ...(impersonatedBy === undefined ? {} : { impersonated_by: impersonatedBy }),
    };
    const token = this.deps.tokens.sign(claims, EXTENSION_TOKEN_SECONDS, minted.data.issued_at);
    return { token, position };
  }

  #stream(tenantId: string, extId: string) {
    return this.deps.streams.of(extensionStream, tenantId, extId);
  }

  async #changed(
    tenantId: string,
    extId: string,
    context: RequestContext,
    decide: (state: Extension) => readonly ExtensionEvent[],
  ): Promise<Changed> {
    const { state, position } = await this.#stream(tenantId, extId).execute(context, decide);
    if (!state.installed) throw notFound();
    return { extension: state, position };
  }
}
