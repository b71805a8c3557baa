import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import { EXTENSION_TOKEN_SECONDS } from '../../../application/extensions/extension-tokens.ts';
import type { Extensions } from '../../../application/extensions/extensions.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { EXT_ID, type InstalledExtension } from '../../../domain/extensions/extension.ts';
import { SCOPES } from '../../../domain/identity/scopes.ts';
import { extensionsOf } from '../../../projections/extensions/extensions.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, text, timestamp } from '../../http/schemas.ts';
import { mintedBearer, notBlank, scopeList } from '../identity/api-tokens.ts';
import { adminRoute, personRoute } from '../route-kinds.ts';

interface Deps {
  readonly extensions: Extensions;
  readonly ids: Ids;
  readonly readModels: ReadModels;
}

/** Extensions of a tenant (specification, Authentication 4; decisions, sections 3 and 6). `:id` is the `ext_id`. */

const BASE = '/api/v1/tenant/extensions';
const TAG = 'Extensions';

const extId = z
  .string()
  .regex(
    EXT_ID,
    'An extension id is lower-case letters, digits, ., _ and -, at most 64, and begins with a letter or digit.',
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
  name: text({ max: 200 }).refine(notBlank, 'The name must not be blank.'),
  version: text({ max: 64 }).refine(notBlank, 'The version must not be blank.'),
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
  created_at: new Date(extension.createdAt).toISOString(),
  updated_at: new Date(extension.updatedAt).toISOString(),
});

export const extensionRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('extensions');
  const common = { tag: TAG, refuses: ['api_token'] as const };

  const change = (action: 'activate' | 'deactivate', operationId: string, summary: string): Route =>
    adminRoute({
      ...common,
      method: 'post',
      path: `${BASE}/:id/${action}`,
      operationId,
      summary,
      params,
      responses: { 200: extensionView },
      errors: ['not_found'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const changed = await deps.extensions[action](tenantId, request.params.id, contextOf(deps, request));
        return { status: 200, body: viewOf(changed.extension), position: changed.position };
      },
    });

  return [
    adminRoute({
      ...common,
      method: 'post',
      path: BASE,
      operationId: 'installExtension',
      summary: 'Install an extension by its manifest; it is inactive until it is activated',
      body: manifest,
      responses: { 201: extensionView },
      errors: ['already_exists'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { ext_id, name, version, scopes, url } = request.body;
        const installed = await deps.extensions.install(
          tenantId,
          { extId: ext_id, name, version, scopes, url: url ?? null, createdBy: userId },
          contextOf(deps, request),
        );
        return { status: 201, body: viewOf(installed.extension), position: installed.position };
      },
    }),

    personRoute({
      ...common,
      method: 'get',
      path: BASE,
      operationId: 'listExtensions',
      summary: 'The installed extensions, the one installed last first',
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(extensionView) },
      reads: ['extensions'],
      handle: async (request) => {
        const after = decodeCursor(request.query.cursor);
        const page = await extensionsOf(reader, request.principal.tenantId, {
          limit: request.query.limit,
          after,
        });
        return { status: 200, body: page.docs, next: nextPage(page.next) };
      },
    }),

    change(
      'activate',
      'activateExtension',
      'Let an extension be loaded; activating it again changes nothing',
    ),
    change(
      'deactivate',
      'deactivateExtension',
      'Stop an extension: its tokens count no longer, also not after it is activated again',
    ),

    adminRoute({
      ...common,
      method: 'delete',
      path: `${BASE}/:id`,
      operationId: 'uninstallExtension',
      summary: 'Uninstall an extension: its tokens count no longer; it may be installed again',
      params,
      responses: { 204: null },
      errors: ['not_found'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const position = await deps.extensions.uninstall(
          tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        return { status: 204, position };
      },
    }),

    personRoute({
      ...common,
      method: 'post',
      path: `${BASE}/:id/token`,
      operationId: 'mintExtensionToken',
      summary:
        'Load an active extension: a token for it, with the scopes of its manifest, on behalf of the caller',
      params,
      responses: { 201: mintedBearer(EXTENSION_TOKEN_SECONDS) },
      errors: ['not_found', 'invalid_transition'],
      handle: async (request) => {
        const { token, position } = await deps.extensions.mintToken(
          request.principal,
          request.params.id,
          contextOf(deps, request),
        );
        const body = { token, token_type: 'Bearer', expires_in: EXTENSION_TOKEN_SECONDS };
        return { status: 201, body, position, secrets: ['token'] };
      },
    }),
  ];
};
