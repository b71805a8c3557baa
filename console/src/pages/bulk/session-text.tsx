import type { components } from '../../../../client/src/index.ts';
import { Badge, type Tone } from '../../kit/index.ts';

export type Session = components['schemas']['BulkOpSession'];
export type Entity = components['schemas']['Entity'];

const STATUSES = {
  previewed: { text: 'Preview', tone: 'info' },
  committing: { text: 'Under way', tone: 'warn' },
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

/** The list of records that the session was made of; undefined for a list of ids. */
export const recordsPath = ({ entity_name, selection }: Session): string | undefined =>
  selection.kind === 'filter'
    ? `/records/${entity_name}?${new URLSearchParams({ filter: filterText(selection.filter_expr) })}`
    : undefined;
