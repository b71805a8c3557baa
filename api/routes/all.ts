import type { Route } from '../http/route.ts';
import { apiTokenRoutes } from './api-tokens.ts';
import type { App } from './app.ts';
import { assistantRoutes } from './assistant.ts';
import { auditEventRoutes } from './audit-events.ts';
import { auditProofRoutes } from './audit-proof.ts';
import { authRoutes } from './auth.ts';
import { billingRoutes } from './billing.ts';
import { bulkRoutes } from './bulk.ts';
import { entityRoutes } from './entities.ts';
import { eventLogRoutes } from './event-log.ts';
import { extensionRoutes } from './extensions.ts';
import { fileRoutes } from './files.ts';
import { formRoutes } from './forms.ts';
import { impersonationRoutes } from './impersonation.ts';
import { invoiceRoutes } from './invoices.ts';
import { jobRoutes } from './jobs.ts';
import { ledgerAccountRoutes } from './ledger-accounts.ts';
import { ledgerEntryRoutes } from './ledger-entries.ts';
import { ledgerExportRoutes } from './ledger-exports.ts';
import { ledgerReportRoutes } from './ledger-reports.ts';
import { ledgerRuleRoutes } from './ledger-rules.ts';
import { messagingRoutes } from './messaging.ts';
import { noteRoutes } from './notes.ts';
import { notificationRoutes } from './notifications.ts';
import { partnerPortalRoutes } from './partner-portal.ts';
import { partnerRoutes } from './partners.ts';
import { projectionRoutes, tenantRoutes } from './platform.ts';
import { publicFormRoutes } from './public-forms.ts';
import { publicLinkRoutes } from './public-links.ts';
import { recordRoutes } from './records.ts';
import { ssoRoutes } from './sso.ts';
import { streamStateRoutes } from './stream-states.ts';
import { userRoutes } from './users.ts';
import { webhookDeliveryRoutes } from './webhook-deliveries.ts';
import { webhookRoutes } from './webhooks.ts';
import { workflowRoutes } from './workflows.ts';

/** Every route of the product, beside those of each server (health, metrics, document). */
export const routesOf = (app: App): Route[] => [
  ...authRoutes(app),
  ...ssoRoutes(app),
  ...tenantRoutes(app),
  ...impersonationRoutes(app),
  ...projectionRoutes(app),
  ...partnerRoutes(app),
  ...partnerPortalRoutes(app),
  ...invoiceRoutes(app),
  ...billingRoutes(app),
  ...userRoutes(app),
  ...eventLogRoutes(app),
  ...streamStateRoutes(app),
  ...auditEventRoutes(app),
  ...auditProofRoutes(app),
  ...apiTokenRoutes(app),
  ...extensionRoutes(app),
  ...messagingRoutes(app),
  ...notificationRoutes(app),
  ...entityRoutes(app),
  ...recordRoutes(app),
  ...noteRoutes(app),
  ...fileRoutes(app),
  ...workflowRoutes(app),
  ...jobRoutes(app),
  ...publicLinkRoutes(app),
  ...formRoutes(app),
  ...publicFormRoutes(app),
  ...bulkRoutes(app),
  ...ledgerAccountRoutes(app),
  ...ledgerEntryRoutes(app),
  ...ledgerRuleRoutes(app),
  ...ledgerReportRoutes(app),
  ...ledgerExportRoutes(app),
  ...webhookRoutes(app),
  ...webhookDeliveryRoutes(app),
  ...assistantRoutes(app),
];
