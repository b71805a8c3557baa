import type { components } from '../../../../client/src/index.ts';
import { Badge, Figures, Pending, Time, useNames, useRead } from '../../kit/index.ts';
import { useWorkflow } from './schema.ts';

export type Job = components['schemas']['JobDetail'];

export const useJob = (id: string) =>
  useRead(
    ['job', id],
    (client, signal) => client.get('/api/v1/tenant/jobs/{id}', { params: { path: { id } }, signal }),
    { every: 15_000 },
  );

/** The transitions and overrides of a job, newest first. */
export const History = ({ jobId, workflow: name }: { jobId: string; workflow: string | null }) => {
  const job = useJob(jobId);
  const workflow = useWorkflow(name);
  const nameOf = useNames();
  const labels = new Map(workflow.data?.states.map(({ key, label }) => [key, label]));
  const labelOf = (state: string): string => labels.get(state) ?? state;
  if (job.data === undefined) return <Pending of={job} what="the history" />;
  const { history } = job.data;
  if (history.length === 0) return <p className="muted">The job is in its first state.</p>;
  return (
    <Figures label="History of the job" columns={['When', 'From', 'To', 'By', 'Who']}>
      <tbody>
        {history
          .map((move, index) => ({ ...move, nth: index }))
          .toReversed()
          .map((move) => (
            <tr key={move.nth}>
              <td>
                <Time at={move.at} />
              </td>
              <td>{labelOf(move.from_state)}</td>
              <td>{labelOf(move.to_state)}</td>
              <td>
                {move.override === true ? (
                  <Badge tone="warn">Override</Badge>
                ) : (
                  <code>{move.event_name}</code>
                )}
                {move.reason === undefined ? null : (
                  <span className="record-reason small muted">{move.reason}</span>
                )}
              </td>
              <td>
                {move.actor.kind === 'user' ? nameOf(move.actor.id) : `${move.actor.kind} ${move.actor.id}`}
              </td>
            </tr>
          ))}
      </tbody>
    </Figures>
  );
};
