import type { Projection } from '../domain/core/projection.ts';
import { invoicesProjection } from './billing/invoices.ts';
import { meteringProjection } from './billing/metering.ts';
import { bulkProjection } from './bulk/bulk.ts';
import { entitiesProjection } from './entities/entities.ts';
import { recordsProjection } from './entities/records.ts';
import { extensionsProjection } from './extensions/extensions.ts';
import { filesProjection } from './files/files.ts';
import { formsProjection } from './forms/forms.ts';
import { apiTokensProjection } from './identity/api-tokens.ts';
import { loginsProjection, usersProjection } from './identity/users.ts';
import { ledgerProjection } from './ledger/ledger.ts';
import { postingRulesProjection } from './ledger/posting-rules.ts';
import { conversationsProjection } from './messaging/conversations.ts';
import { notificationsProjection } from './notifications/notifications.ts';
import { openWorkProjection } from './operations/open-work.ts';
import { partnersProjection } from './partners/partners.ts';
import { tenantsProjection } from './tenancy/tenants.ts';
import { usageProjection } from './tenancy/usage.ts';
import { webhookDeliveriesProjection } from './webhooks/webhook-deliveries.ts';
import { webhooksProjection } from './webhooks/webhooks.ts';
import { jobsProjection } from './workflow/jobs.ts';
import { linksProjection } from './workflow/public-links.ts';
import { workflowsProjection } from './workflow/workflows.ts';

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
  openWorkProjection,
  usageProjection,
];
