import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Extensions } from '../../../application/extensions/extensions.ts';
import { EXTENSION_TOKEN_SECONDS } from '../../../application/identity/authentication-claims.ts';
import { iso } from '../../../domain/core/projection.ts';
import { EXT_ID, type InstalledExtension } from '../../../domain/extensions/extension.ts';
import { SCOPES } from '../../../domain/identity/scopes.ts';
import { extensionsOf } from '../../../projections/extensions/extensions.ts';
import type { Route } from '../../http/route.ts';
import { filledText, timestamp } from '../../http/schemas.ts';
import { bearerReply, mintedBearer, scopeList } from '../identity/api-tokens.ts';
import { creation, gone, listReply, one, pagedList, removal, written } from '../replies.ts';
import { adminRoute, personRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly extensions: Extensions;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant/extensions';

const extId = z
  .string()
  .regex(
    EXT_ID,
    'An extension id has at most 64 lower-case letters, digits, ., _ and -, and begins with a letter or digit.',
  );

const address = z
  .string()
  .max(2000)
  .refine((given) => {
    const url = URL.parse(given);
    return url?.protocol === 'https:' && url.username === '' && url.password === '' && !/[\s\\]/.test(given);
  }, 'This is not an https address without user name and password.');

const manifest = z.object({
  ext_id: extId,
  name: filledText(200, 'The name must not be blank.'),
  version: filledText(64, 'The version must not be blank.'),
  scopes: scopeList,
  url: address.nullish(),
});

const extensionView = z
  .object({
    ext_id: z.string(),
    name: z.string(),
    version: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    url: z.string().nullable(),
    state: z.enum(['inactive', 'active']),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Extension' });

/** An invalid id is a 404 like an unknown one. */
const params = z.object({ id: extId });

const viewOf = (extension: InstalledExtension) => ({
  ext_id: extension.extId,
  name: extension.name,
  version: extension.version,
  scopes: extension.scopes,
  url: extension.url,
  state: extension.state,
  created_by: extension.createdBy,
  created_at: iso(extension.createdAt),
  updated_at: iso(extension.updatedAt),
});

const reply = written('extension', viewOf);

/** Extensions of a tenant (specification, Authentication 4; decisions, sections 3 and 6). `:id` is the `ext_id`. */
export const extensionRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('extensions');

  return tagged(
    'Extensions',
    [
      adminRoute({
        ...creation(extensionView, manifest),
        path: BASE,
        operationId: 'installExtension',
        summary: 'Install an extension by its manifest; it is inactive until it is activated',
        description: 'The manifest names the scopes that the extension’s tokens get.',
        errors: ['already_exists'],
        handle: async ({ principal: { tenantId, userId }, body: { ext_id, url, ...rest }, context }) => {
          const extension = { ...rest, extId: ext_id, url: url ?? null, createdBy: userId };
          return reply(201, await deps.extensions.install(tenantId, extension, context));
        },
      }),

      personRoute({
        ...pagedList(extensionView),
        path: BASE,
        operationId: 'listExtensions',
        summary: 'The installed extensions, the most recently installed first',
        description: 'Every person of the tenant may read the list.',
        reads: ['extensions'],
        handle: ({ principal, query }) =>
          listReply(query, (page) => extensionsOf(reader, principal.tenantId, page)),
      }),

      adminRoute({
        ...one('post', extensionView, params),
        path: `${BASE}/:id/activate`,
        operationId: 'activateExtension',
        summary: 'Activate an extension; activating it again changes nothing',
        description: 'From now on every person of the tenant may load it.',
        handle: async ({ principal: { tenantId }, params, context }) =>
          reply(200, await deps.extensions.activate(tenantId, params.id, context)),
      }),

      adminRoute({
        ...one('post', extensionView, params),
        path: `${BASE}/:id/deactivate`,
        operationId: 'deactivateExtension',
        summary: 'Deactivate an extension: its tokens become invalid and stay invalid after a new activation',
        description: 'Repeating it changes nothing.',
        handle: async ({ principal: { tenantId }, params, context }) =>
          reply(200, await deps.extensions.deactivate(tenantId, params.id, context)),
      }),

      adminRoute({
        ...removal(params),
        path: `${BASE}/:id`,
        operationId: 'uninstallExtension',
        summary: 'Uninstall an extension: its tokens become invalid; it can be installed again',
        description: 'The extension disappears from the list; data that it wrote stays.',
        handle: async ({ principal: { tenantId }, params, context }) =>
          gone(await deps.extensions.uninstall(tenantId, params.id, context)),
      }),

      personRoute({
        method: 'post',
        path: `${BASE}/:id/token`,
        operationId: 'mintExtensionToken',
        summary:
          'Load an active extension: get a token for it, with the scopes of its manifest, on behalf of the caller',
        description:
          'The token lasts 15 minutes and carries the scopes of the manifest. The extension must be active.',
        params,
        responses: { 201: mintedBearer(EXTENSION_TOKEN_SECONDS) },
        errors: ['invalid_transition'],
        handle: async ({ principal, params, context }) => {
          const minted = await deps.extensions.mintToken(principal, params.id, context);
          return bearerReply(201, minted, EXTENSION_TOKEN_SECONDS);
        },
      }),
    ],
    { refuses: ['api_token'] },
  );
};
