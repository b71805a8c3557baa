import { Plus } from 'lucide-react';
import { useState } from 'react';
import type { components } from '../../../../client/src/index.ts';
import {
  ActionsMenu,
  actions,
  ago,
  Badge,
  Button,
  type Column,
  ConfirmItem,
  Copy,
  Empty,
  MenuItem,
  Page,
  TableCard,
  type Tone,
  useAction,
  useIsAdmin,
  usePages,
  useTenant,
} from '../../kit/index.ts';
import { FormDialog } from './form-dialog.tsx';
import { RecordLinks } from './links.tsx';
import '../../styles/records.css';

type FormView = components['schemas']['Form'];

const TONES: Readonly<Record<FormView['status'], Tone>> = {
  draft: 'warn',
  published: 'ok',
  archived: 'neutral',
};

/** Public forms that create records. */
export default function Forms() {
  const isAdmin = useIsAdmin();
  const tenantId = useTenant()?.tenantId ?? '';
  const [edited, setEdited] = useState<FormView | 'new'>();
  const rows = usePages(['forms', 'list'], (client, limit) =>
    client.items('/api/v1/tenant/forms', { params: { query: { limit } } }),
  );
  const columns: readonly Column<FormView>[] = [
    { key: 'title', title: 'Form', min: 160, grow: 2, cell: ({ title }) => title },
    {
      key: 'status',
      title: 'Status',
      min: 100,
      grow: 0,
      cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge>,
    },
    { key: 'entity', title: 'Makes', min: 120, cell: ({ entity_name }) => <code>{entity_name}</code> },
    {
      key: 'address',
      title: 'Address',
      min: 220,
      grow: 2,
      cell: ({ slug, status }) => {
        const path = `/public/forms/${tenantId}/${slug}`;
        return status === 'published' ? (
          <>
            <a href={path} target="_blank" rel="noreferrer">
              {path}
            </a>
            <Copy text={new URL(path, location.origin).href} label={`Copy the address of ${slug}`} />
          </>
        ) : (
          <span className="muted">{path}</span>
        );
      },
    },
    ago('changed', 'Changed', ({ updated_at }) => updated_at),
    ...(isAdmin
      ? [actions(110, (form: FormView) => <Actions form={form} onEdit={() => setEdited(form)} />)]
      : []),
  ];
  return (
    <Page
      title="Forms"
      about="Public pages on which people without an account create records."
      actions={
        isAdmin ? (
          <Button tone="primary" onClick={() => setEdited('new')}>
            <Plus size={16} aria-hidden />
            New form
          </Button>
        ) : null
      }
    >
      <RecordLinks />
      <TableCard
        label="Forms"
        rows={rows}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No form yet">
            <p>An admin creates one from the fields of an entity.</p>
          </Empty>
        }
      />
      {edited === undefined ? null : (
        <FormDialog {...(edited === 'new' ? {} : { form: edited })} onClose={() => setEdited(undefined)} />
      )}
    </Page>
  );
}

const Actions = ({ form, onEdit }: { form: FormView; onEdit: () => void }) => {
  const params = { path: { id: form.id } };
  const invalidates = [['forms']] as const;
  const publish = useAction((client) => client.post('/api/v1/tenant/forms/{id}/publish', { params }), {
    invalidates,
    done: `${form.title} is public.`,
  });
  const archive = useAction((client) => client.post('/api/v1/tenant/forms/{id}/archive', { params }), {
    invalidates,
    done: `${form.title} is closed.`,
  });
  const remove = useAction((client) => client.delete('/api/v1/tenant/forms/{id}', { params }), {
    invalidates,
    done: `${form.title} was deleted.`,
  });
  return (
    <ActionsMenu name={form.title}>
      <MenuItem onSelect={onEdit}>Change</MenuItem>
      {form.status === 'published' ? null : (
        <ConfirmItem
          ask={{
            title: `Publish ${form.title}?`,
            consequence: 'Everyone who knows the address can then create records with it.',
            action: 'Publish',
            tone: 'primary',
            run: () => publish.mutateAsync(),
          }}
        >
          Publish
        </ConfirmItem>
      )}
      {form.status === 'archived' ? null : (
        <ConfirmItem
          ask={{
            title: `Close ${form.title}?`,
            consequence: 'Its address then answers that the form does not exist. It can be published again.',
            action: 'Close the form',
            run: () => archive.mutateAsync(),
          }}
        >
          Close
        </ConfirmItem>
      )}
      <ConfirmItem
        tone="danger"
        ask={{
          title: `Delete ${form.title}?`,
          consequence:
            'The form is gone, and its address is free for another one. Records that were created with it stay.',
          action: 'Delete form',
          run: () => remove.mutateAsync(),
        }}
      >
        Delete
      </ConfirmItem>
    </ActionsMenu>
  );
};
