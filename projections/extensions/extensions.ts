import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import type { EventOf } from '../../domain/core/event.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { ExtensionEvent, ExtensionInstalled } from '../../domain/extensions/extension.ts';

/** The installed extensions of a tenant (decisions, section 6). */

type ExtensionDoc = EventOf<typeof ExtensionInstalled>['data'] & {
  readonly state: 'inactive' | 'active';
  readonly created_at: string;
  readonly updated_at: string;
};

const extensions = collection<ExtensionDoc>('extensions');

export const extensionsProjection = projection<ExtensionEvent>({
  name: 'extensions',
  version: 1,
  collections: [{ name: 'extensions', indexes: [byCreatedAt] }],
  on: {
    ExtensionInstalled: ({ data, at }) => [
      extensions.put(data.ext_id, {
        ext_id: data.ext_id,
        name: data.name,
        version: data.version,
        scopes: data.scopes,
        url: data.url,
        state: 'inactive',
        created_by: data.created_by,
        created_at: iso(at),
        updated_at: iso(at),
      }),
    ],
    ExtensionActivated: ({ data, at }) => [
      extensions.merge(data.ext_id, { state: 'active', updated_at: iso(at) }),
    ],
    ExtensionDeactivated: ({ data, at }) => [
      extensions.merge(data.ext_id, { state: 'inactive', updated_at: iso(at) }),
    ],
    ExtensionUninstalled: ({ data }) => [extensions.remove(data.ext_id)],
  },
});

// Queries

/** Latest installation first. */
export const extensionsOf = extensions.list('by_created_at', 'desc');
