import { isRecord } from '../../../../client/src/errors.ts';
import { DialogForm, SelectField, TextField, useAction } from '../../kit/index.ts';
import type { Job } from './history.tsx';
import type { Definition, Transition } from './machine.ts';

interface PayloadProps {
  readonly transition: Transition;
  readonly onClose: () => void;
  readonly send: (payload: Record<string, unknown>) => Promise<unknown>;
}

const objectOf = (text: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new TypeError('no object');
  return { ...value };
};

/** Asks for the payload that a transition's guard reads. */
export const PayloadDialog = ({ transition: { event_name, guard }, onClose, send }: PayloadProps) => (
  <DialogForm
    title={event_name}
    submit={event_name}
    onClose={onClose}
    onSubmit={async (values) => {
      let payload: Record<string, unknown>;
      try {
        payload = objectOf(values.text('payload'));
      } catch {
        throw new Error('The payload is not a JSON object.');
      }
      await send(payload);
    }}
  >
    <p>
      The guard of this transition reads its payload: <code>{guard}</code>
    </p>
    <TextField name="payload" label="Payload" rows={4} defaultValue="{}" hint="A JSON object" />
  </DialogForm>
);

interface OverrideProps {
  readonly job: Job;
  readonly definition: Definition;
  readonly invalidates: readonly (readonly [string, ...unknown[]])[];
  readonly onClose: () => void;
}

/** Moves a job by hand, with a reason. */
export const Override = ({ job, definition, invalidates, onClose }: OverrideProps) => {
  const override = useAction(
    (client, body: { to_state: string; reason: string }) =>
      client.post('/api/v1/tenant/jobs/{id}/override', { params: { path: { id: job.id } }, body }),
    { invalidates, done: 'The state was overridden.' },
  );
  const states = definition.states
    .filter(({ key }) => key !== job.state)
    .map(({ key, label }) => [key, label] as const);
  return (
    <DialogForm
      title="Override the state"
      submit="Override"
      onClose={onClose}
      onSubmit={(values) =>
        override.mutateAsync({ to_state: values.text('to_state'), reason: values.text('reason') })
      }
    >
      <p>
        The job moves to another state without a transition: no guard, role or required field is checked.
        Webhooks and posting rules get the event, and the history shows your reason.
      </p>
      <SelectField name="to_state" label="To" options={states} />
      <TextField name="reason" label="Reason" required rows={2} />
    </DialogForm>
  );
};
