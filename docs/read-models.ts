import { z } from 'zod';
import { catalogue } from '../domain/catalogue.ts';
import type { Document, Projection } from '../domain/core/projection.ts';
import { projections } from '../projections/all.ts';
import { ANY_TEXT, sampleOf } from './sample-events.ts';

/**
 * Generates `docs/read-models.md`: collections, fields and indexes, found by folding sample events with the
 * projections.
 */

const ROUNDS = 40;
const SEALED = 'sealed';

/** A field's types, how often it occurred, and how often as an object with fields. */
interface Field {
  readonly types: Set<string>;
  seen: number;
  objects: number;
}
type Fields = Map<string, Field>;

/** Events of every type, with each variant of their data; personal texts are marked. */
function* sampleEvents(types: ReadonlySet<string>): Generator<{ type: string; data: unknown }> {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { type, schema, personal } of catalogue) {
      if (!types.has(type)) continue;
      const data = z.record(z.string(), z.unknown()).parse(sampleOf(z.toJSONSchema(schema), { round }));
      const sealed = Object.keys(personal).filter((field) => typeof data[field] === 'string');
      yield { type, data: { ...data, ...Object.fromEntries(sealed.map((field) => [field, SEALED])) } };
    }
  }
}

/** The fields of each collection's documents. */
function fieldsOf({ types, fold }: Projection): ReadonlyMap<string, Fields> {
  const documents = new Map<string, Document>();
  const found = new Map<string, Fields>();
  let position = 0;
  for (const event of sampleEvents(new Set(types))) {
    for (const tenantId of ['id', 'platform']) {
      position += 1;
      const context = {
        id: ANY_TEXT,
        tenantId,
        stream: `${tenantId}.x-id`,
        revision: 1,
        at: 0,
        actor: { kind: 'user', id: ANY_TEXT },
        impersonatedBy: undefined,
        position: String(position).padStart(6, '0'),
      };
      for (const touch of fold({ ...event, ...context })) {
        const key = `${touch.collection}/${touch.tenantId ?? tenantId}/${touch.id}`;
        const document = touch.change(documents.get(key));
        documents.delete(key);
        if (document === undefined) continue;
        documents.set(key, document);
        const fields = found.get(touch.collection) ?? new Map();
        found.set(touch.collection, fields);
        note(fields, '', document);
      }
    }
  }
  return found;
}

function note(fields: Fields, path: string, value: unknown): void {
  const field = fields.get(path) ?? { types: new Set(), seen: 0, objects: 0 };
  fields.set(path, field);
  field.seen += 1;
  field.types.add(typeOf(value));
  if (Array.isArray(value)) for (const each of value) note(fields, `${path}[]`, each);
  else if (typeof value === 'object' && value !== null) {
    field.objects += 1;
    for (const [name, each] of Object.entries(value)) {
      if (each !== undefined) note(fields, path === '' ? name : `${path}.${name || ANY_TEXT}`, each);
    }
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return value === SEALED ? SEALED : typeof value;
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('.')));

/** The types of a field as text; the type of an array includes those of its elements. */
function typesOf(fields: Fields, path: string): string {
  const shown = [...(fields.get(path)?.types ?? [])]
    .filter((type) => type !== 'null')
    .map((type) => (type === SEALED ? 'string' : type))
    .map((type) => (type === 'array' ? `array of ${typesOf(fields, `${path}[]`)}` : type));
  return [...new Set(shown)].toSorted().join(' or ') || 'null';
}

function rowsOf(fields: Fields): string[] {
  return [...fields].flatMap(([path, { types, seen }]) => {
    if (path === '' || path.endsWith('[]')) return [];
    const notes = [
      ...(types.has(SEALED) ? ['sealed'] : []),
      ...(types.has('null') ? ['may be null'] : []),
      ...(!path.endsWith('…') && seen < (fields.get(parentOf(path))?.objects ?? 0) ? ['optional'] : []),
    ];
    return [`| \`value.${path}\` | ${typesOf(fields, path)} | ${notes.join(', ')} |`];
  });
}

function sectionOf(projection: Projection): string[] {
  const fields = fieldsOf(projection);
  const lines = [`## ${projection.name}`, '', `Version ${projection.version}.`, ''];
  for (const { name, indexes, searchable = false } of projection.collections) {
    const found = fields.get(name);
    if (found === undefined)
      throw new Error(`no sample event makes a document of ${projection.name}.${name}`);
    lines.push(`### ${projection.name}@v${projection.version}.${name}`, '');
    lines.push('| field | type | |', '|---|---|---|', ...rowsOf(found), '');
    lines.push('| index | fields | stored key |', '|---|---|---|');
    for (const { name: index, fields: paths, multi, present } of indexes) {
      const key = multi === undefined ? `\`k_${index}\`` : `\`h_${index}\`, \`t_${index}\``;
      const notes = [
        ...(multi === undefined ? [] : [`an entry for each element of \`${multi}\``]),
        ...(present === undefined ? [] : [`only with \`${present}\``]),
      ].map((text) => `; ${text}`);
      lines.push(
        `| \`${index}\` | ${paths.map((path) => `\`${path}\``).join(', ')}${notes.join('')} | ${key} |`,
      );
    }
    if (searchable)
      lines.push('', 'Filters compare `s.keys.<field>`, `s.state`, `s.created_at` and `s.updated_at`.');
    lines.push('');
  }
  return lines;
}

const INTRODUCTION = `# Read models in MongoDB

Collections, fields and indexes of the read models where \`MONGODB_URL\` is set, generated from the projections
(\`npm run docs\`): the fields are those that the projections make of sample events. Read models can be deleted and are rebuilt
from the log. Read them with \`mongosh\`, Compass or a BI tool, and change nothing: a changed document is written over, or reported
by \`compare-read-models\`.

A collection is called \`<projection>@<generation>.<collection>\`. \`meta_active_generations\` names the generation that answers:
\`v2\` is version 2, \`v2.1\` its first rebuild. Each document has

| field | |
|---|---|
| \`_id\` | \`<tenant>/<id>\` |
| \`tenant\`, \`doc_id\` | whose document it is, and its id. Documents of the platform have the tenant \`platform\` |
| \`value\` | the document, with the fields below; null for a deleted one, which goes after a day |
| \`position\`, \`fence\` | the last event that it has seen, and the lease under which it was written |
| \`k_…\`, \`h_…\`, \`t_…\`, \`s\` | keys of the indexes, and of filters |

- *Sealed* fields hold encrypted personal texts. They cannot be searched, and stay unreadable after an erasure.
- Times are ISO texts, so they sort as texts. Decimals are texts as they were given; amounts of the ledger are whole numbers of the
  smallest unit.
- Names that MongoDB or its driver cannot hold are percent-encoded: a leading \`$\`, \`.\`, \`%\` and NUL, and the first character of
  names such as \`constructor\`. \`…\` stands for a name that users gave.
- A document that BSON cannot hold exactly (more than 80 levels, more than 100,000 values) is JSON text under \`value\`.
- An index that you create is on one generation: create it again after a rebuild. Prefer \`tenant\` as its first field.

With a replica set, a batch of events appears as a whole, and \`readConcern: "snapshot"\` reads several collections of one moment.

## Examples

The collection that answers:

\`\`\`js
const model = (projection, collection) =>
  db.getCollection(\`\${projection}@\${db.meta_active_generations.findOne({ _id: projection }).active}.\${collection}\`);
\`\`\`

Open orders of a tenant, newest first:

\`\`\`js
model('records', 'records')
  .find({ tenant: 'acme', 'value.entity_name': 'order', 'value.state': 'open' }, { value: 1 })
  .sort({ 'value.created_at': -1 });
\`\`\`

Jobs by workflow and state:

\`\`\`js
model('jobs', 'jobs').aggregate([
  { $match: { tenant: 'acme', value: { $ne: null } } },
  { $group: { _id: { workflow: '$value.workflow', state: '$value.state' }, jobs: { $sum: 1 } } },
  { $sort: { jobs: -1 } },
]);
\`\`\`

A view for a BI tool, and an index for it:

\`\`\`js
const entries = model('ledger', 'entries');
db.createView('acme_entries', entries.getName(), [
  { $match: { tenant: 'acme', value: { $ne: null } } },
  { $replaceRoot: { newRoot: '$value' } },
]);
entries.createIndex({ tenant: 1, 'value.posted_at': 1 });
\`\`\`
`;

export const readModelGuide = (): string => [INTRODUCTION, ...projections.flatMap(sectionOf)].join('\n');
