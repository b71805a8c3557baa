import type { PrincipalKind } from '../../application/core/commands/principal.ts';

/** The security scheme of each kind of principal; `user` is first, because most operations accept it. */
export const SCHEMES: Readonly<Record<PrincipalKind, { name: string; format: string; description: string }>> =
  {
    user: {
      name: 'tenantJwt',
      format: 'JWT',
      description:
        'A person’s token: from `POST /auth/login`, single sign-on, impersonation, or a test token.',
    },
    extension: {
      name: 'extensionJwt',
      format: 'JWT',
      description: 'An extension’s token of 15 minutes, checked against its scopes.',
    },
    api_token: {
      name: 'apiToken',
      format: 'svc_pat_…',
      description: 'A long-lived API token, checked against its scopes.',
    },
    platform_admin: {
      name: 'platformJwt',
      format: 'JWT',
      description: 'A platform admin’s token, from `POST /super/auth/login`.',
    },
    partner: {
      name: 'partnerJwt',
      format: 'JWT',
      description: 'A partner’s token, from `POST /api/v1/partner-portal/auth/exchange`.',
    },
  };

/** `components.securitySchemes`. */
export const securitySchemes = Object.fromEntries(
  Object.values(SCHEMES).map(({ name, format, description }) => [
    name,
    { type: 'http' as const, scheme: 'bearer', bearerFormat: format, description },
  ]),
);
