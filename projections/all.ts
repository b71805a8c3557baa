import type { Projection } from '../domain/projection.ts';
import { apiTokensProjection } from './api-tokens.ts';
import { bulkProjection } from './bulk.ts';
import { conversationsProjection } from './conversations.ts';
import { entitiesProjection } from './entities.ts';
import { extensionsProjection } from './extensions.ts';
import { filesProjection } from './files.ts';
import { formsProjection } from './forms.ts';
import { invoicesProjection } from './invoices.ts';
import { jobsProjection } from './jobs.ts';
import { ledgerProjection } from './ledger.ts';
import { linksProjection } from './links.ts';
import { meteringProjection } from './metering.ts';
import { notificationsProjection } from './notifications.ts';
import { partnersProjection } from './partners.ts';
import { postingRulesProjection } from './posting-rules.ts';
import { recordsProjection } from './records.ts';
import { tenantsProjection } from './tenants.ts';
import { loginsProjection, usersProjection } from './users.ts';
import { webhookDeliveriesProjection } from './webhook-deliveries.ts';
import { webhooksProjection } from './webhooks.ts';
import { workflowsProjection } from './workflows.ts';

/** Every read model of the product. */
export const projections: readonly Projection[] = [
  tenantsProjection,
  partnersProjection,
  invoicesProjection,
  loginsProjection,
  usersProjection,
  apiTokensProjection,
  extensionsProjection,
  conversationsProjection,
  notificationsProjection,
  filesProjection,
  workflowsProjection,
  entitiesProjection,
  recordsProjection,
  jobsProjection,
  linksProjection,
  formsProjection,
  ledgerProjection,
  postingRulesProjection,
  meteringProjection,
  webhooksProjection,
  webhookDeliveriesProjection,
  bulkProjection,
];
