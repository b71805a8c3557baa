import { Messaging } from '../../application/messaging.ts';
import { Notifications } from '../../application/notifications.ts';
import { Operations } from '../../application/operations.ts';
import type { ProjectionHost } from '../../application/projection-host.ts';
import { messageLookup } from '../message-lookup.ts';
import type { App } from '../routes/app.ts';
import { composeAssistant } from './assistant.ts';
import { composeAuditProof } from './audit-proof.ts';
import { composeBilling } from './billing.ts';
import { composeBulk } from './bulk.ts';
import type { Core } from './core.ts';
import { composeEntities } from './entities.ts';
import { composeFiles } from './files.ts';
import { composeForms } from './forms.ts';
import { composeIdentity } from './identity.ts';
import { composeInvoices } from './invoices.ts';
import { composeLedger } from './ledger.ts';
import { warnOfOpenings } from './outbound.ts';
import { composeSso } from './sso.ts';
import { composeTimeTravel } from './time-travel.ts';
import { composeWebhooks } from './webhooks.ts';
import { composeWorkflow } from './workflow.ts';

/** All use cases, area by area. */
export const composeApp = (core: Core, hosts: readonly ProjectionHost[]): App => {
  const { commands, directory, states, stores, codec, keys, readModels, ids, clock } = core;
  warnOfOpenings(core.config, core.logger);
  const identityArea = composeIdentity(core);
  const billingArea = composeBilling(core, identityArea.partnerDirectory);
  const workflowArea = composeWorkflow(core);
  const entitiesArea = composeEntities(core, (tenantId, name) =>
    workflowArea.workflows.published(tenantId, name),
  );
  return {
    ...identityArea,
    ...billingArea,
    ...composeInvoices(core, { ...identityArea, ...billingArea }),
    ...composeFiles(core),
    ...composeAuditProof(core),
    ...composeSso(core, identityArea.identity),
    ...workflowArea,
    ...composeLedger(core),
    ...entitiesArea,
    ...composeForms(core, entitiesArea),
    ...composeBulk(core, entitiesArea, workflowArea),
    ...composeWebhooks(core),
    ...composeAssistant(core),
    ...composeTimeTravel(core),
    directory,
    messaging: new Messaging({
      commands,
      directory,
      states,
      events: stores.events,
      codec,
      keys,
      lookUpMessage: messageLookup(readModels),
    }),
    notifications: new Notifications(commands, () => stores.events.head()),
    operations: new Operations(commands, hosts),
    readModels,
    keys,
    ids,
    clock,
  };
};
