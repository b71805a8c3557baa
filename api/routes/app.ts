import type { Directory } from '../../application/directory.ts';
import type { Messaging } from '../../application/messaging.ts';
import type { Notifications } from '../../application/notifications.ts';
import type { Operations } from '../../application/operations.ts';
import type { Clock, Ids } from '../../application/ports/clock.ts';
import type { Principal } from '../../application/principal.ts';
import type { ReadModels } from '../../application/read-models.ts';
import { type RequestContext, requestContext } from '../../application/request-context.ts';
import type { KeyRing } from '../../application/sealing.ts';
import type { AssistantArea } from '../compose/assistant.ts';
import type { AuditProofArea } from '../compose/audit-proof.ts';
import type { BillingArea } from '../compose/billing.ts';
import type { BulkArea } from '../compose/bulk.ts';
import type { EntitiesArea } from '../compose/entities.ts';
import type { FilesArea } from '../compose/files.ts';
import type { FormsArea } from '../compose/forms.ts';
import type { IdentityArea } from '../compose/identity.ts';
import type { InvoicesArea } from '../compose/invoices.ts';
import type { LedgerArea } from '../compose/ledger.ts';
import type { SsoArea } from '../compose/sso.ts';
import type { TimeTravelArea } from '../compose/time-travel.ts';
import type { WebhooksArea } from '../compose/webhooks.ts';
import type { WorkflowArea } from '../compose/workflow.ts';
import type { RouteRequest } from '../http/route.ts';

/** What the routes act through: use cases, queries, and the little they need to make a request's context. */
export interface App
  extends IdentityArea,
    BillingArea,
    InvoicesArea,
    AssistantArea,
    AuditProofArea,
    EntitiesArea,
    BulkArea,
    FilesArea,
    FormsArea,
    SsoArea,
    TimeTravelArea,
    LedgerArea,
    WorkflowArea,
    WebhooksArea {
  readonly directory: Directory;
  readonly messaging: Messaging;
  readonly notifications: Notifications;
  readonly operations: Operations;
  readonly readModels: ReadModels;
  readonly keys: KeyRing;
  readonly ids: Ids;
  readonly clock: Clock;
}

export const contextOf = (
  app: App,
  request: Pick<
    RouteRequest<unknown, unknown, unknown, Principal>,
    'principal' | 'requestId' | 'idempotency'
  >,
): RequestContext => requestContext(request, app.ids);

/** The data key of a person's name and e-mail. */
export const personKeyId = (tenantId: string, userId: string): string => `${tenantId}/person-${userId}`;
