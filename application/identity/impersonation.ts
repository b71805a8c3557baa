import { DomainError, notFound, tenantSuspended } from '../../domain/core/errors.ts';
import {
  impersonationStream,
  impersonationStreamId,
  type LogRequest,
  logRequest,
  startImpersonation,
} from '../../domain/identity/impersonation.ts';
import type { RegisteredUser } from '../../domain/identity/user.ts';
import type { Written } from '../core/commands/command.ts';
import {
  type ExtensionPrincipal,
  impersonatorOf,
  type Principal,
  type UserPrincipal,
} from '../core/commands/principal.ts';
import { actorOf, type RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import { issuedAt, SHORT_TOKEN_SECONDS, type TenantClaims, USER_ID } from './authentication-claims.ts';
import type { Directory } from './directory.ts';

/** A principal that a platform admin can impersonate. */
export type Impersonated = UserPrincipal | ExtensionPrincipal;

/** Returns the principal if a platform admin impersonates it, otherwise undefined. */
export const impersonatedOf = (principal: Principal): Impersonated | undefined =>
  impersonatorOf(principal) !== undefined && (principal.kind === 'user' || principal.kind === 'extension')
    ? principal
    : undefined;

/** A request under impersonation that gets its own line: a read, a refused request, or a write without an event. */
export interface ImpersonatedLine extends LogRequest {
  readonly principal: Impersonated;
  readonly requestId: string;
}

/** Impersonation of a tenant's users (specification, Authentication 3; decisions, section 3). */
export class Impersonation extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly tenantTokens: Pick<TokenFamily<TenantClaims>, 'sign'>;
  readonly clock: Clock;
  /** Ids of all active admins of a tenant in the order of their creation, from the read model. */
  readonly adminsByCreation: (tenantId: string) => AsyncIterable<string>;
}> {
  /**
   * Mints an impersonation JWT after its event is on disk. `iat` is the time of that event, so that a repeated request
   * gets the same token from the same event.
   * @param wanted.userId default: the tenant's oldest active admin
   * @throws `not_found` for the tenant or the user, `tenant_suspended`, `conflict` for a tenant without an active admin
   */
  async start(
    tenantId: string,
    wanted: { userId?: string | undefined; reason?: string | undefined },
    adminEmail: string,
    context: RequestContext,
  ): Promise<Written<{ token: string }>> {
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant === undefined) throw notFound();
    if (tenant.status === 'suspended') throw tenantSuspended();
    const user =
      wanted.userId === undefined
        ? await this.#oldestAdmin(tenantId)
        : await this.#activeUser(tenantId, wanted.userId);
    const email = await this.deps.directory.open(user.email);
    const { events, position } = await this.deps.streams
      .of(impersonationStream, tenantId, user.id)
      .execute({ ...context, cause: { ...context.cause, impersonatedBy: adminEmail } }, () =>
        startImpersonation(user.id, wanted.reason),
      );
    const token = this.deps.tenantTokens.sign(
      { sub: user.id, email, tenant_id: tenantId, role: user.role, impersonated_by: adminEmail },
      SHORT_TOKEN_SECONDS,
      issuedAt(events),
    );
    return { token, position };
  }

  /** Appends a request to the tenant's log; resolves when it is on disk. */
  async appendLine(line: ImpersonatedLine): Promise<void> {
    const { principal, requestId } = line;
    const { tenantId, userId, impersonatedBy } = principal;
    const ids = { correlationId: requestId, causationId: requestId };
    await this.deps.streams
      .of(impersonationStream, tenantId, impersonationStreamId(userId, this.deps.clock.now()))
      .execute({ cause: { actor: actorOf(principal), impersonatedBy, ...ids } }, () => logRequest(line));
  }

  async #activeUser(tenantId: string, userId: string): Promise<RegisteredUser> {
    const user = USER_ID.test(userId) ? await this.deps.directory.user(tenantId, userId) : undefined;
    if (user?.status !== 'active') throw notFound();
    return user;
  }

  /** The read model orders the admins; the user's stream confirms that the person is still an active admin. */
  async #oldestAdmin(tenantId: string): Promise<RegisteredUser> {
    for await (const id of this.deps.adminsByCreation(tenantId)) {
      const user = await this.deps.directory.user(tenantId, id);
      if (user?.status === 'active' && user.role === 'admin') return user;
    }
    throw new DomainError('conflict', 'The tenant has no active admin: name a user with user_id.');
  }
}
