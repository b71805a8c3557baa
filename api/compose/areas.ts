import type { ProjectionRunner } from '../../application/core/projections/projection-runner.ts';
import type { RateLimits } from '../http/rate-limits.ts';
import type { Area } from './area.ts';
import { composeAssistant } from './assistant.ts';
import { composeAudit } from './audit.ts';
import { composeBilling } from './billing.ts';
import { composeBulk } from './bulk.ts';
import type { Core } from './core.ts';
import { composeEntities } from './entities.ts';
import { composeExtensions } from './extensions.ts';
import { composeFiles } from './files.ts';
import { composeForms } from './forms.ts';
import { composeIdentity } from './identity.ts';
import { composeInvoices } from './invoices.ts';
import { composeLedger } from './ledger.ts';
import { composeMessaging } from './messaging.ts';
import { composeNotifications } from './notifications.ts';
import { composeOperations } from './operations.ts';
import { warnOfOpenings } from './outbound.ts';
import { composePartners } from './partners.ts';
import { composeTenancy } from './tenancy.ts';
import { composeWebhooks } from './webhooks.ts';
import { composeWorkflow } from './workflow.ts';

/** Composes every area, each with the areas that it uses. A new area is added here. */
export const composeAreas = (core: Core, runners: readonly ProjectionRunner[], limits: RateLimits) => {
  warnOfOpenings(core.config, core.logger);
  const partners = composePartners(core);
  const identity = composeIdentity(core, partners);
  const billing = composeBilling(core, partners);
  const workflow = composeWorkflow(core);
  const entities = composeEntities(core, workflow);
  const audit = composeAudit(core);
  return {
    identity,
    tenancy: composeTenancy(core, identity, partners),
    operations: composeOperations(core, runners),
    partners,
    billing,
    invoices: composeInvoices(core, partners, billing),
    audit,
    extensions: composeExtensions(core, identity),
    messaging: composeMessaging(core),
    notifications: composeNotifications(core),
    entities,
    files: composeFiles(core),
    workflow,
    forms: composeForms(core, entities),
    bulk: composeBulk(core, entities, workflow, limits),
    ledger: composeLedger(core, audit),
    webhooks: composeWebhooks(core),
    assistant: composeAssistant(core),
  } satisfies Record<string, Area>;
};

export type Areas = ReturnType<typeof composeAreas>;

export const listOf = (areas: Areas): readonly Area[] => Object.values(areas);
