import { useState } from 'react';
import { Link } from 'wouter';
import {
  Badge,
  Button,
  Card,
  DialogButton,
  PendingCard,
  useAction,
  useConfirm,
  useTenant,
} from '../../kit/index.ts';
import { type Job, useJob } from './history.tsx';
import { Override, PayloadDialog } from './job-dialogs.tsx';
import { type Definition, startsOf, type Transition } from './machine.ts';
import { MachineDrawing } from './machine-drawing.tsx';
import { Refusal } from './refusal.tsx';
import { type Entity, type EntityRecord, useWorkflow, type Workflow } from './schema.ts';

/** The definition that new jobs begin with; undefined before the first publication. */
export const publishedOf = (workflow: Workflow): Definition | undefined =>
  workflow.status === 'published' ? workflow : workflow.published;

interface JobCardProps {
  readonly jobId: string;
  readonly entity: Entity;
  readonly record: EntityRecord;
}

/** The job of a record: its state and its possible transitions. */
export const JobCard = ({ jobId, entity, record }: JobCardProps) => {
  const job = useJob(jobId);
  const workflow = useWorkflow(job.data?.workflow);
  const definition = workflow.data === undefined ? undefined : publishedOf(workflow.data);
  if (job.data === undefined || definition === undefined || workflow.data === undefined) {
    return <PendingCard title="Job" of={[job, workflow]} what="the job" />;
  }
  const labels = new Map(definition.states.map(({ key, label }) => [key, label]));
  const visited = new Set(job.data.history.flatMap(({ from_state, to_state }) => [from_state, to_state]));
  return (
    <Card
      title="Job"
      actions={
        <>
          <Badge tone={job.data.final ? 'ok' : 'info'}>{labels.get(job.data.state) ?? job.data.state}</Badge>
          <span className="small muted">
            <Link href={`/workflows/${job.data.workflow}`}>
              {job.data.workflow}, version {job.data.workflow_version}
            </Link>
          </span>
        </>
      }
    >
      <div className="stack">
        {job.data.workflow_version === workflow.data.version ? null : (
          <p className="small">
            The job runs in version {job.data.workflow_version}, in which it started. The drawing shows
            version {workflow.data.version}; the transitions offered here are those of the job’s version.
          </p>
        )}
        <MachineDrawing
          name={job.data.workflow}
          definition={definition}
          state={job.data.state}
          visited={visited}
          allowed={job.data.allowed_events}
        />
        <Moves job={job.data} definition={definition} entity={entity} record={record} />
      </div>
    </Card>
  );
};

interface MovesProps {
  readonly job: Job;
  readonly definition: Definition;
  readonly entity: Entity;
  readonly record: EntityRecord;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '');

/**
 * Reasons why the user cannot send an event. They come from the definition, since the server's list of allowed events
 * ignores required fields.
 */
const hindrancesOf = (
  { roles, required_fields: required = [], guard, guard_label: label }: Transition,
  { role, isListed }: { readonly role: string; readonly isListed: boolean },
  { entity, record }: { readonly entity: Entity; readonly record: EntityRecord },
): readonly string[] => {
  const missing = required.filter((key) => isEmpty(record.values[key]));
  const named = missing.map((key) => entity.fields.find((field) => field.key === key)?.label ?? key);
  const needs = named.length === 0 ? [] : [`needs ${named.join(', ')}`];
  if (isListed) return needs;
  return [
    ...(roles === undefined || roles.some((one) => one === role) ? [] : [`only for ${roles.join(' or ')}`]),
    ...needs,
    ...(guard === undefined
      ? []
      : [guard.includes('payload') ? `its guard reads the payload: ${guard}` : `guard: ${label ?? guard}`]),
  ];
};

const Moves = ({ job, definition, entity, record }: MovesProps) => {
  const role = useTenant()?.role ?? '';
  const confirm = useConfirm();
  const [asked, setAsked] = useState<Transition>();
  const [refused, setRefused] = useState<{ readonly transition: Transition; readonly error: unknown }>();
  const invalidates = [
    ['job', job.id],
    ['record', entity.name, record.id],
    ['records', entity.name],
  ] as const;
  const move = useAction(
    (client, { event, payload }: { event: string; payload?: Record<string, unknown> }) =>
      client.post('/api/v1/tenant/jobs/{id}/transitions', {
        params: { path: { id: job.id } },
        body: { event_name: event, expected_state: job.state, ...(payload === undefined ? {} : { payload }) },
      }),
    { invalidates, done: ({ state }) => `The job is in ${labelOf(state)}.` },
  );
  const labelOf = (state: string): string =>
    definition.states.find(({ key }) => key === state)?.label ?? state;
  const isFinal = (state: string): boolean =>
    definition.states.find(({ key }) => key === state)?.final === true;
  const transitions = definition.transitions.filter((one) => startsOf(one).includes(job.state));
  // Events of another version, which this definition lacks.
  const others = job.allowed_events.filter((event) =>
    transitions.every(({ event_name }) => event_name !== event),
  );

  const run = async (transition: Transition): Promise<void> => {
    setRefused(undefined);
    try {
      await move.mutateAsync({ event: transition.event_name });
    } catch (error) {
      setRefused({ transition, error });
    }
  };
  const press = (transition: Transition): void => {
    if (transition.guard?.includes('payload') === true) setAsked(transition);
    else if (isFinal(transition.to))
      confirm({
        title: `${transition.event_name}: to ${labelOf(transition.to)}?`,
        consequence: `${labelOf(transition.to)} is a final state: no transition leads out of it.`,
        action: transition.event_name,
        tone: 'primary',
        run: () => run(transition),
      });
    else void run(transition);
  };
  return (
    <section className="stack" aria-label="Transitions">
      {transitions.length === 0 && others.length === 0 ? (
        <p className="muted">No transition leads out of {labelOf(job.state)}.</p>
      ) : null}
      <ul className="moves">
        {transitions.map((transition) => {
          const isListed = job.allowed_events.includes(transition.event_name);
          const hindrances = hindrancesOf(transition, { role, isListed }, { entity, record });
          const isAllowed = isListed && hindrances.length === 0;
          return (
            <li key={`${transition.event_name} ${transition.to}`}>
              <Button
                tone={isAllowed ? 'primary' : 'plain'}
                disabled={move.isPending}
                onClick={() => press(transition)}
              >
                {transition.event_name}
              </Button>
              <span>
                to <strong>{labelOf(transition.to)}</strong>
                {hindrances.length === 0 ? null : <span className="muted"> · {hindrances.join('; ')}</span>}
              </span>
            </li>
          );
        })}
        {others.map((event) => (
          <li key={event}>
            <Button
              tone="primary"
              disabled={move.isPending}
              onClick={() => void run({ event_name: event, from: job.state, to: '' })}
            >
              {event}
            </Button>
          </li>
        ))}
      </ul>
      {refused === undefined ? null : (
        <Refusal {...refused} entity={entity} record={record} labelOf={labelOf} />
      )}
      {role === 'admin' ? (
        <div>
          <DialogButton
            size="small"
            dialog={(close) => (
              <Override job={job} definition={definition} invalidates={invalidates} onClose={close} />
            )}
          >
            Override the state
          </DialogButton>
        </div>
      ) : null}
      {asked === undefined ? null : (
        <PayloadDialog
          transition={asked}
          onClose={() => setAsked(undefined)}
          send={(payload) => move.mutateAsync({ event: asked.event_name, payload })}
        />
      )}
    </section>
  );
};
