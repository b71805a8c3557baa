import { z } from 'zod';
import type { BillingProfiles } from '../../../application/billing/profiles.ts';
import {
  PARTNER_TOKEN_SECONDS,
  type PartnerAuthentication,
} from '../../../application/partners/partner-authentication.ts';
import type { Partners } from '../../../application/partners/partners.ts';
import { TEMPLATE_VARIABLES } from '../../../domain/billing/template.ts';
import type { Route } from '../../http/route.ts';
import { text } from '../../http/schemas.ts';
import { bearer } from '../identity/auth.ts';
import { ok } from '../replies.ts';
import { partnerRoute, publicRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly billingProfiles: BillingProfiles;
  readonly partnerAuthentication: PartnerAuthentication;
  readonly partners: Partners;
}

const BASE = '/api/v1/partner-portal';

/** The permission that every billing route requires. */
export const BILLING_PERMISSION = 'partner-billing';

export const billed = (routes: Parameters<typeof tagged>[1]) =>
  tagged('Partner billing', routes, { permission: BILLING_PERMISSION });

const variables = TEMPLATE_VARIABLES.map((name) => `{{${name}}}`).join(' ');
const template = (min: number, max: number) =>
  text({ min, max }).meta({ description: `Plain text with the variables ${variables}.` });
const profile = z
  .object({ item_name_template: template(1, 200), item_description: template(0, 1000) })
  .meta({ id: 'BillingProfile' });

/**
 * The partner portal: sign-in, the signed-in person, and the billing profile (decisions, sections 3 and 10). The
 * credential names the partner, which is never taken from a path, a query or a body.
 */
export const partnerPortalRoutes = (deps: Deps): Route[] => [
  ...tagged('Partner portal', [
    publicRoute({
      method: 'post',
      path: `${BASE}/auth/exchange`,
      operationId: 'exchangePartnerAssertion',
      summary:
        'Exchange an assertion of the hosting portal for a partner token; each assertion is valid once',
      description:
        'The hosting portal signs the assertion with the exchange key (HS256, claims `sub`, `email`, ' +
        '`partner_id`, `permissions`, `jti`, at most 5 minutes old). The token lasts one hour.',
      tag: 'Authentication',
      limit: 'login',
      body: z.object({
        assertion: z.string().meta({ description: 'A JWT of the hosting portal, at most 5 minutes old.' }),
      }),
      responses: { 200: z.object(bearer) },
      errors: ['invalid_credential'],
      handle: async ({ body: { assertion }, requestId }) => {
        const { token, position } = await deps.partnerAuthentication.exchange(assertion, requestId);
        const body = { token, token_type: 'Bearer', expires_in: PARTNER_TOKEN_SECONDS };
        return { status: 200, body, position };
      },
    }),

    partnerRoute({
      method: 'get',
      path: `${BASE}/me`,
      operationId: 'getPartnerSession',
      summary: 'The signed-in account, its partner and its permissions',
      description: 'Use it to decide which parts of a portal to show.',
      responses: {
        200: z.object({
          user: z.object({ id: z.string(), email: z.string() }),
          partner: z.object({ id: z.string(), name: z.string() }),
          permissions: z.array(z.string()),
        }),
      },
      handle: async ({ principal }) => {
        const { id, name } = await deps.partners.get(principal.partnerId);
        const user = { id: principal.userId, email: principal.email };
        return ok({ user, partner: { id, name }, permissions: principal.permissions });
      },
    }),
  ]),

  ...billed([
    partnerRoute({
      method: 'get',
      path: `${BASE}/billing/profile`,
      operationId: 'getBillingProfile',
      summary: 'The templates of invoice lines',
      description: 'Names and descriptions of invoice lines are made from these templates.',
      responses: { 200: profile },
      handle: async ({ principal }) => ok(await deps.billingProfiles.get(principal.partnerId)),
    }),

    partnerRoute({
      method: 'put',
      path: `${BASE}/billing/profile`,
      operationId: 'replaceBillingProfile',
      summary: 'Replace the templates of invoice lines',
      description:
        'Templates may contain `{{customer}}`, `{{partner}}`, `{{meter}}`, `{{quantity}}` and ' +
        '`{{period}}`; any other variable is 422 `unknown_template_variable`. Frozen invoices keep their ' +
        'texts.',
      body: profile,
      responses: { 200: profile },
      errors: ['unknown_template_variable'],
      handle: async ({ principal, body, context }) => {
        const { profile, position } = await deps.billingProfiles.change(principal.partnerId, body, context);
        return { status: 200, body: profile, position };
      },
    }),
  ]),
];
