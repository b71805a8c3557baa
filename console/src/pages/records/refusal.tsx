import { ApiError } from '../../../../client/src/index.ts';
import { Problem } from '../../kit/index.ts';
import type { Transition } from './machine.ts';
import type { Entity, EntityRecord } from './schema.ts';
import { CellValue } from './value.tsx';

interface RefusalProps {
  readonly transition: Transition;
  readonly error: unknown;
  readonly entity: Entity;
  readonly record: EntityRecord;
  readonly labelOf: (state: string) => string;
}

/** Explains a refused transition: its guard, and the values that the guard reads. */
export const Refusal = ({ transition, error, entity, record, labelOf }: RefusalProps) => {
  if (!(error instanceof ApiError) || error.code !== 'guard_rejected') return <Problem error={error} />;
  const { guard, from, to } = error.details;
  const expression = transition.guard ?? '';
  const keys = new Set([...expression.matchAll(/\brecord\.(\w+)/g)].map(([, key]) => key));
  const fields = entity.fields.filter(({ key }) => keys.has(key));
  return (
    <div className="problem" role="alert">
      <strong>
        The guard of {transition.event_name} refused it{typeof guard === 'string' ? `: ${guard}` : '.'}
      </strong>
      <div className="small refusal">
        {typeof from === 'string' && typeof to === 'string' ? (
          <p>
            From {labelOf(from)} to {labelOf(to)} it has to hold that <code>{expression}</code>
          </p>
        ) : null}
        {fields.length === 0 ? null : (
          <ul>
            {fields.map((field) => (
              <li key={field.key}>
                {field.label} is{' '}
                {record.values[field.key] === undefined ? (
                  'empty'
                ) : (
                  <strong>
                    <CellValue field={field} value={record.values[field.key]} />
                  </strong>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
};
