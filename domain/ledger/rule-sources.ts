import type { WebhookEvent } from '../webhooks/event-types.ts';

/** Kinds of events to which posting rules apply, and their payloads (decisions, section 9, Posting rule). */

export const SOURCE_KINDS = [
  'job.transition',
  'job.admin_override',
  'form.submitted',
  'entity.created',
  'entity.updated',
  'entity.deleted',
  'partner_invoice.issued',
] as const satisfies readonly (WebhookEvent | 'partner_invoice.issued')[];
export type SourceKind = (typeof SOURCE_KINDS)[number];

export const PAYLOAD_TYPES = ['string', 'integer', 'money', 'date-time', 'object', 'array'] as const;

export interface PayloadPath {
  readonly path: string;
  /** `money`: minor units; `object`: longer paths into the object are allowed. */
  readonly type: (typeof PAYLOAD_TYPES)[number];
}

export interface RuleSource {
  readonly kind: SourceKind;
  readonly title: string;
  readonly payload: readonly PayloadPath[];
  /** Path of the currency of the payload's amounts; if undefined, amounts are in the tenant's currency. */
  readonly currency?: string;
}

const paths = (type: PayloadPath['type'], ...names: readonly string[]): readonly PayloadPath[] =>
  names.map((path) => ({ path, type }));

const RECORD = [...paths('string', 'entity_name', 'entity_id'), ...paths('object', 'values')];
const JOB = paths(
  'string',
  'job_id',
  'entity_name',
  'entity_id',
  'from_state',
  'to_state',
  'event_name',
  'actor.kind',
  'actor.id',
);

export const SOURCES: readonly RuleSource[] = [
  { kind: 'job.transition', title: 'A job moved to another state', payload: JOB },
  {
    kind: 'job.admin_override',
    title: 'An admin forced a job into a state',
    payload: [...JOB, ...paths('string', 'reason')],
  },
  {
    kind: 'form.submitted',
    title: 'A form was submitted',
    payload: [...paths('string', 'form_id', 'submission_id'), ...RECORD],
  },
  {
    kind: 'entity.created',
    title: 'A record was created',
    payload: [...RECORD, ...paths('integer', 'version')],
  },
  {
    kind: 'entity.updated',
    title: 'A record was changed',
    payload: [...RECORD, ...paths('array', 'changed'), ...paths('integer', 'version')],
  },
  {
    kind: 'entity.deleted',
    title: 'A record was deleted',
    payload: [...RECORD, ...paths('integer', 'version')],
  },
  {
    kind: 'partner_invoice.issued',
    title: 'An invoice of the partner whose home this tenant is was issued',
    payload: [
      ...paths('string', 'invoice_id', 'number', 'customer.id', 'customer.name'),
      ...paths('date-time', 'window.from', 'window.to'),
      ...paths('integer', 'revision'),
      ...paths('string', 'currency'),
      ...paths('money', 'totals.wholesale', 'totals.retail', 'totals.margin'),
      ...paths('string', 'upstream_ref'),
      ...paths('date-time', 'issued_at'),
    ],
    currency: 'currency',
  },
];

export const sourceOf = (kind: SourceKind): RuleSource => {
  const found = SOURCES.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`no source ${kind}`);
  return found;
};

const firstOf = (path: string): string => path.split('.')[0] ?? '';

/** Whether payloads of this source have the path; compares only the first name of the path. */
export const isPathOf = (source: RuleSource, path: string): boolean =>
  source.payload.some((each) => firstOf(each.path) === firstOf(path));
