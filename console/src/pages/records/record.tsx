import { Pencil, Trash2 } from 'lucide-react';
import { Fragment } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { ApiError } from '../../../../client/src/index.ts';
import {
  Button,
  Card,
  Copied,
  Count,
  DialogButton,
  Facts,
  Page,
  Pending,
  Tabs,
  Time,
  useFilters,
  useNames,
  useRead,
} from '../../kit/index.ts';
import { useStreamOf } from '../events/event.ts';
import { ById } from './by-id.tsx';
import { useDeletion } from './deletion.ts';
import { Files } from './files.tsx';
import { History } from './history.tsx';
import { JobCard } from './job.tsx';
import { Notes } from './notes.tsx';
import { PublicLinks } from './public-links.tsx';
import { RecordDialog } from './record-form.tsx';
import { type Entity, type EntityRecord, titleOf, useEntity } from './schema.ts';
import { FullValue } from './value.tsx';
import '../../styles/records.css';

/** A record: its values, its job, its notes and files. */
export default function RecordPage() {
  const { entity: name = '', id = '' } = useParams();
  // No entity has the name `by-id`.
  if (name === 'by-id') return <ById id={id} />;
  return <ReadRecord key={id} name={name} id={id} />;
}

const ReadRecord = ({ name, id }: { name: string; id: string }) => {
  const entity = useEntity(name);
  const record = useRead(['record', name, id], (client, signal) =>
    client.get('/api/v1/tenant/entities/{name}/records/{id}', { params: { path: { name, id } }, signal }),
  );
  const error = entity.error ?? record.error;
  if (entity.data === undefined || record.data === undefined) {
    const isGone = error instanceof ApiError && error.status === 404;
    return (
      <Page title={isGone ? 'No such record' : 'Record'} crumbs={crumbsOf(name, entity.data)}>
        <Card>
          <Pending of={[entity, record]} what="the record" />
          {isGone ? <Past id={id} /> : null}
        </Card>
      </Page>
    );
  }
  return <Whole entity={entity.data} record={record.data} />;
};

const crumbsOf = (name: string, entity: Entity | undefined) =>
  [
    ['/records', 'Records'],
    [`/records/${name}`, entity?.label ?? name],
  ] as const;

const Past = ({ id }: { id: string }) => {
  const path = useStreamOf('record', id);
  return path === undefined ? null : (
    <p>
      If it was deleted, <Link href={path}>its events</Link> show what it was.
    </p>
  );
};

const Whole = ({ entity, record }: { entity: Entity; record: EntityRecord }) => {
  const [, navigate] = useLocation();
  const remove = useDeletion(entity, record, () => navigate(`/records/${entity.name}`));
  const filters = useFilters(['show']);
  const nameOf = useNames();
  const stream = useStreamOf('record', record.id);
  const { id, job_id: job } = record;
  const at = { name: entity.name, id };
  return (
    <Page
      title={titleOf(entity.fields, record)}
      crumbs={crumbsOf(entity.name, entity)}
      actions={
        <>
          {stream === undefined ? null : (
            <Link href={stream} className="button button-plain">
              Time travel
            </Link>
          )}
          <DialogButton dialog={(close) => <RecordDialog entity={entity} record={record} onClose={close} />}>
            <Pencil size={15} aria-hidden />
            Change
          </DialogButton>
          <Button onClick={() => void remove.ask()} disabled={remove.isAsking}>
            <Trash2 size={15} aria-hidden />
            Delete
          </Button>
        </>
      }
    >
      {job === null ? null : <JobCard jobId={job} entity={entity} record={record} />}
      <div className="record-columns">
        <Card title="Values">
          {/* Not `Facts`, whose names are unique: two fields may have the same label. */}
          <dl className="facts">
            {entity.fields.map((field) => (
              <Fragment key={field.key}>
                <dt>{field.label}</dt>
                <dd>
                  <FullValue field={field} value={record.values[field.key]} />
                </dd>
              </Fragment>
            ))}
          </dl>
        </Card>
        <Card title="Record">
          <Facts
            of={{
              Made: <Time at={record.created_at} />,
              By: nameOf(record.created_by),
              Changed: <Time at={record.updated_at} />,
              Version: <Count of={record.version} to={stream} label="the events of the record" />,
              Id: <Copied text={id} what="id" />,
            }}
          />
        </Card>
      </div>
      <Card>
        <Tabs
          label="What belongs to the record"
          value={filters.of('show') || 'notes'}
          onChange={(tab) => filters.set('show', tab === 'notes' ? '' : tab)}
          tabs={[
            { key: 'notes', title: 'Notes', content: <Notes {...at} /> },
            { key: 'files', title: 'Files', content: <Files {...at} /> },
            ...(job === null
              ? []
              : [
                  {
                    key: 'history',
                    title: 'History',
                    content: <History jobId={job} workflow={entity.workflow} />,
                  },
                  { key: 'links', title: 'Public links', content: <PublicLinks jobId={job} /> },
                ]),
          ]}
        />
      </Card>
    </Page>
  );
};
