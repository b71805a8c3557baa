import { assistantEvents } from './assistant/question.ts';
import { invoiceEvents } from './billing/invoice.ts';
import { profileEvents } from './billing/profile.ts';
import { rateCardEvents } from './billing/rate-card.ts';
import { bulkEvents } from './bulk/session-events.ts';
import type { EventDefinition } from './core/event.ts';
import { recordEvents } from './entities/record.ts';
import { schemaEvents } from './entities/schema.ts';
import { extensionEvents } from './extensions/extension.ts';
import { fileEvents } from './files/file.ts';
import { formEvents } from './forms/form.ts';
import { formSlugEvents } from './forms/slug.ts';
import { submissionEvents } from './forms/submission.ts';
import { adminsEvents } from './identity/admins.ts';
import { apiTokenEvents, tokenPrefixEvents } from './identity/api-token.ts';
import { emailEvents } from './identity/email.ts';
import { impersonationEvents } from './identity/impersonation.ts';
import { platformAdminEvents } from './identity/platform-admin.ts';
import { ssoIdentityEvents } from './identity/sso-identity.ts';
import { testTokenEvents } from './identity/test-token.ts';
import { userEvents } from './identity/user.ts';
import { entryEvents } from './ledger/entry.ts';
import { journalEvents } from './ledger/journal.ts';
import { postingFailureEvents } from './ledger/posting-failure.ts';
import { postingRuleEvents } from './ledger/posting-rule.ts';
import { conversationEvents } from './messaging/conversation.ts';
import { inboxEvents } from './notifications/inbox.ts';
import { operationsEvents } from './operations/operations.ts';
import { assertionEvents } from './partners/assertion.ts';
import { partnerEvents } from './partners/partner.ts';
import { tenantEvents } from './tenancy/tenant.ts';
import { deliveryEvents } from './webhooks/delivery.ts';
import { subscriptionEvents } from './webhooks/subscription.ts';
import { linkEvents } from './workflow/link.ts';
import { workflowEvents } from './workflow/workflow.ts';

/** Every event type that the product stores; the codec knows only these types. */
export const catalogue: readonly EventDefinition[] = [
  ...tenantEvents,
  ...platformAdminEvents,
  ...emailEvents,
  ...userEvents,
  ...adminsEvents,
  ...ssoIdentityEvents,
  ...apiTokenEvents,
  ...tokenPrefixEvents,
  ...testTokenEvents,
  ...impersonationEvents,
  ...extensionEvents,
  ...conversationEvents,
  ...inboxEvents,
  ...operationsEvents,
  ...workflowEvents,
  ...linkEvents,
  ...partnerEvents,
  ...assertionEvents,
  ...profileEvents,
  ...rateCardEvents,
  ...invoiceEvents,
  ...schemaEvents,
  ...recordEvents,
  ...fileEvents,
  ...formEvents,
  ...formSlugEvents,
  ...submissionEvents,
  ...journalEvents,
  ...entryEvents,
  ...postingRuleEvents,
  ...postingFailureEvents,
  ...subscriptionEvents,
  ...deliveryEvents,
  ...bulkEvents,
  ...assistantEvents,
];
