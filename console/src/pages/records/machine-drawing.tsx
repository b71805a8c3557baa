import { useId, useMemo, useState } from 'react';
import { type Definition, drawingOf, pathOf, startsOf } from './machine.ts';

interface DrawingProps {
  readonly name: string;
  readonly definition: Definition;
  /** State of the job; undefined shows the workflow alone. */
  readonly state?: string;
  /** States that the job was in. */
  readonly visited?: ReadonlySet<string>;
  /** Events that the user can send now. */
  readonly allowed?: readonly string[];
}

/** A state machine as a drawing, and as a list for screen readers. */
export const MachineDrawing = ({ name, definition, state, visited, allowed = [] }: DrawingProps) => {
  const id = useId();
  const [isTall] = useState(() => matchMedia('(max-width: 900px)').matches);
  const drawing = useMemo(() => drawingOf(definition, isTall), [definition, isTall]);
  const labels = new Map(definition.states.map(({ key, label }) => [key, label]));
  const now = state === undefined ? '' : ` The job is in ${labels.get(state) ?? state}.`;
  return (
    <div className="machine">
      <div className="scroll-x" tabIndex={0} role="group" aria-label={`Drawing of ${name}`}>
        <svg
          width={drawing.width}
          height={drawing.height}
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          role="img"
          aria-label={`State machine ${name} with ${definition.states.length} states.${now} The list of transitions says the same in words.`}
        >
          <defs>
            {(['plain', 'open'] as const).map((kind) => (
              <marker
                key={kind}
                id={`${id}-${kind}`}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="7"
                markerHeight="7"
                orient="auto-start-reverse"
              >
                <path className={`machine-tip ${kind}`} d="M0,0 L8,4 L0,8 Z" />
              </marker>
            ))}
          </defs>
          {drawing.edges.map(({ from, to, points, labels: names, transitions, x, y }) => {
            const isOpen =
              from === state && transitions.some(({ event_name }) => allowed.includes(event_name));
            return (
              <g key={`${from} ${to}`} className={isOpen ? 'machine-edge open' : 'machine-edge'}>
                <path
                  className="machine-line"
                  d={pathOf(points)}
                  strokeDasharray={transitions.some(({ guard }) => guard !== undefined) ? '5 3' : undefined}
                  markerEnd={`url(#${id}-${isOpen ? 'open' : 'plain'})`}
                />
                {names.map((label, index) => (
                  <text
                    key={label}
                    className="machine-event"
                    x={x}
                    y={y + (index - (names.length - 1) / 2) * 15 + 4}
                  >
                    {label}
                  </text>
                ))}
              </g>
            );
          })}
          {drawing.states.map(({ key, label, isFinal, x, y, width, height }) => (
            <g
              key={key}
              className="machine-state"
              data-now={key === state}
              data-visited={visited?.has(key) === true}
              data-initial={key === definition.initial}
            >
              <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={8} />
              {isFinal ? (
                <rect
                  x={x - width / 2 + 3}
                  y={y - height / 2 + 3}
                  width={width - 6}
                  height={height - 6}
                  rx={6}
                />
              ) : null}
              <text className="machine-label" x={x} y={y + 4.5}>
                {label}
              </text>
            </g>
          ))}
        </svg>
      </div>
      <p className="small muted">
        A dashed line has a guard, a double border is a final state
        {state === undefined ? '.' : '; the filled state is the current one.'}
      </p>
      <details>
        <summary>Transitions in words</summary>
        <ul className="machine-words">
          {definition.transitions.map((one) => (
            <li key={`${one.event_name} ${startsOf(one).join(' ')} ${one.to}`}>
              <code>{one.event_name}</code>: from{' '}
              {startsOf(one)
                .map((key) => labels.get(key) ?? key)
                .join(', ')}{' '}
              to {labels.get(one.to) ?? one.to}
              {one.roles === undefined ? '' : `, by ${one.roles.join(' or ')}`}
              {one.guard === undefined ? '' : ', if '}
              {one.guard === undefined ? null : <code>{one.guard}</code>}
              {one.required_fields === undefined || one.required_fields.length === 0
                ? ''
                : `, with ${one.required_fields.join(', ')}`}
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
};
