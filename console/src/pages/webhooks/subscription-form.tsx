import type { components } from '../../../../client/src/index.ts';
import { CheckField, ChoicesField, DialogForm, TextField } from '../../kit/index.ts';

export type Subscription = components['schemas']['WebhookSubscription'];

export const EVENTS = [
  'job.transition',
  'job.admin_override',
  'form.submitted',
  'entity.created',
  'entity.updated',
  'entity.deleted',
] as const;

export type Given = Pick<Subscription, 'url' | 'description' | 'events'>;

interface Props {
  readonly title: string;
  readonly subscription?: Subscription;
  readonly submit: string;
  readonly onSave: (given: Given) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Form for the URL of a subscription and the events that are sent to it. */
export const SubscriptionDialog = ({ subscription, onSave, ...dialog }: Props) => (
  <DialogForm
    {...dialog}
    onSubmit={(values) => {
      const chosen = EVENTS.filter((event) => values.all('events').includes(event));
      return onSave({
        url: values.text('url'),
        description: values.text('description'),
        events: values.flag('all') ? ['*'] : chosen,
      });
    }}
  >
    <TextField
      name="url"
      label="URL"
      type="url"
      required
      defaultValue={subscription?.url}
      placeholder="https://hooks.example.com/platform"
      hint="A public HTTPS address."
    />
    <TextField
      name="description"
      label="Description"
      maxLength={1000}
      defaultValue={subscription?.description}
    />
    <CheckField
      name="all"
      label="All events, also those of later versions"
      defaultChecked={subscription?.events.includes('*') ?? false}
    />
    <ChoicesField
      name="events"
      label="Events"
      hint="Not used when all events are chosen."
      options={EVENTS.map((event) => [event, <code key={event}>{event}</code>])}
      defaultValues={subscription?.events ?? []}
    />
  </DialogForm>
);
