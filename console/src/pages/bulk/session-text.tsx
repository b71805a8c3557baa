import type { components } from '../../../../client/src/index.ts';
import { Badge, type Tone } from '../../kit/index.ts';
import type { Entity, EntityField } from '../records/schema.ts';

export type Session = components['schemas']['BulkOpSession'];

const STATUSES = {
  previewed: { text: 'Preview', tone: 'info' },
  committing: { text: 'Running', tone: 'warn' },
  committed: { text: 'Done', tone: 'ok' },
  errored: { text: 'Interrupted', tone: 'danger' },
  cancelled: { text: 'Cancelled', tone: 'neutral' },
} as const satisfies Record<Session['status'], { text: string; tone: Tone }>;

export const SessionStatus = ({ status }: { status: Session['status'] }) => (
  <Badge tone={STATUSES[status].tone}>{STATUSES[status].text}</Badge>
);

/** The operation in a few words: "Edit parcel". */
export const titleOf = ({ op_params, entity_name }: Session): string => {
  switch (op_params.kind) {
    case 'edit':
      return `Edit ${entity_name}`;
    case 'delete':
      return `Delete ${entity_name}`;
    case 'transition':
      return `Move ${entity_name} by ${op_params.event_name}`;
    default:
      return op_params satisfies never;
  }
};

export const rowsText = (count: number): string =>
  `${count.toLocaleString()} ${count === 1 ? 'record' : 'records'}`;

export const filterText = (filter: string | object): string =>
  typeof filter === 'string' ? filter : JSON.stringify(filter);

/** A value of a field as a text. */
export const valueText = (value: unknown): string => {
  if (value === undefined || value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const listPath = (entity: string, filter: string): string =>
  `/records/${entity}?${new URLSearchParams({ filter })}`;

/** Maximum of ids in the filter of a link; a filter has at most 4 KiB. */
const MOST_IDS = 50;

/** The filter that selects the records of a session; undefined for more than `MOST_IDS` ids. */
const filterOf = ({ selection }: Session): string | undefined => {
  if (selection.kind === 'filter') return filterText(selection.filter_expr);
  const { ids } = selection;
  return ids.length > MOST_IDS ? undefined : `id in ${JSON.stringify(ids)}`;
};

/** Path of the list of the session's records; undefined if no filter selects them. */
export const recordsPath = (session: Session): string | undefined => {
  const filter = filterOf(session);
  return filter === undefined ? undefined : listPath(session.entity_name, filter);
};

/** A value in a filter; undefined for values that filters cannot compare. */
const literalOf = (type: EntityField['type'] | undefined, value: unknown): string | undefined => {
  if (value === null) return 'null';
  if (type === undefined || type === 'json') return undefined;
  return type === 'datetime' ? `timestamp(${JSON.stringify(value)})` : JSON.stringify(value);
};

/** Path of the selected records that already have the new values; undefined if no filter can express this. */
export const skippedPath = (session: Session, fields: Entity['fields']): string | undefined => {
  const [selected, { op_params }] = [filterOf(session), session];
  // An object filter cannot be joined to a text.
  if (selected === undefined || selected.startsWith('{') || op_params.kind !== 'edit') return undefined;
  const parts = op_params.fields.map(({ field_key: key, new_value: value }) => {
    const literal = literalOf(fields.find((field) => field.key === key)?.type, value);
    return literal === undefined ? undefined : `${key} == ${literal}`;
  });
  if (parts.includes(undefined)) return undefined;
  return listPath(session.entity_name, [`(${selected})`, ...parts].join(' && '));
};
