import {
  type DocumentReader,
  iso,
  type Page,
  type PageEnd,
  projection,
  touch,
  touchExisting,
} from '../../domain/core/projection.ts';
import type { ExtensionEvent } from '../../domain/extensions/extension.ts';
import type { Scope } from '../../domain/identity/scopes.ts';

/** The installed extensions of a tenant (decisions, section 6). */

export interface ExtensionDoc {
  readonly ext_id: string;
  readonly name: string;
  readonly version: string;
  readonly scopes: readonly Scope[];
  readonly url: string | null;
  readonly state: 'inactive' | 'active';
  readonly created_by: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const changed = (id: string, values: Partial<ExtensionDoc>) => [
  touchExisting<ExtensionDoc>('extensions', id, (document) => ({ ...document, ...values })),
];

export const extensionsProjection = projection<ExtensionEvent>({
  name: 'extensions',
  version: 1,
  collections: [{ name: 'extensions', indexes: [{ name: 'by_created_at', fields: ['created_at'] }] }],
  on: {
    ExtensionInstalled: ({ data, at }) => [
      touch<ExtensionDoc>('extensions', data.ext_id, () => ({
        ext_id: data.ext_id,
        name: data.name,
        version: data.version,
        scopes: data.scopes,
        url: data.url,
        state: 'inactive',
        created_by: data.created_by,
        created_at: iso(at),
        updated_at: iso(at),
      })),
    ],
    ExtensionActivated: ({ data, at }) => changed(data.ext_id, { state: 'active', updated_at: iso(at) }),
    ExtensionDeactivated: ({ data, at }) => changed(data.ext_id, { state: 'inactive', updated_at: iso(at) }),
    ExtensionUninstalled: ({ data }) => [touch<ExtensionDoc>('extensions', data.ext_id, () => undefined)],
  },
});

// Queries

/** Latest installation first. */
export const extensionsOf = (
  reader: DocumentReader,
  tenantId: string,
  page: { limit: number; after: PageEnd | undefined },
): Promise<Page<ExtensionDoc>> =>
  reader.find('extensions', tenantId, { index: 'by_created_at', equals: [], order: 'desc', ...page });
