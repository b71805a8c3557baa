import type { Principal } from '../../application/core/commands/principal.ts';
import { type RequestContext, requestContext } from '../../application/core/commands/request-context.ts';
import type { Ids } from '../../application/ports/clock.ts';
import type { RouteRequest } from './route.ts';

/** The command context of a request. */
export const contextOf = (
  { ids }: { readonly ids: Ids },
  request: Pick<
    RouteRequest<unknown, unknown, unknown, Principal>,
    'principal' | 'requestId' | 'idempotency'
  >,
): RequestContext => requestContext(request, ids);
