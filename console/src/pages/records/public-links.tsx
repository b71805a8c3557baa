import { useState } from 'react';
import {
  Badge,
  ConfirmButton,
  Dialog,
  DialogButton,
  DialogForm,
  Failed,
  Pending,
  Secret,
  SelectField,
  TextField,
  Time,
  useAction,
  usePages,
} from '../../kit/index.ts';

const LIFETIMES = [
  ['1d', 'a day'],
  ['7d', 'a week'],
  ['30d', '30 days'],
  ['90d', '90 days'],
] as const;

const lifetimeOf = (text: string) => LIFETIMES.find(([key]) => key === text)?.[0] ?? '30d';

/** Links that show a job's page to people without an account. */
export const PublicLinks = ({ jobId }: { jobId: string }) => {
  const [made, setMade] = useState<string>();
  const params = { path: { id: jobId } };
  const invalidates = [['links', jobId]] as const;
  const links = usePages(['links', jobId], (client, limit) =>
    client.items('/api/v1/tenant/jobs/{id}/links', { params: { ...params, query: { limit } } }),
  );
  const make = useAction(
    (client, body: { page_slug: string; expires_in: '1d' | '7d' | '30d' | '90d' }) =>
      client.post('/api/v1/tenant/jobs/{id}/links', { params, body }),
    { invalidates },
  );
  const revoke = useAction(
    (client, link: string) =>
      client.delete('/api/v1/tenant/jobs/{id}/links/{link_id}', {
        params: { path: { id: jobId, link_id: link } },
      }),
    { invalidates, done: 'The link was revoked.' },
  );
  const items = links.data?.pages.flatMap((page) => page.items);
  const now = Date.now();
  return (
    <div className="stack">
      <div className="row">
        <DialogButton
          dialog={(close) => (
            <DialogForm
              title="New public link"
              submit="Make the link"
              onClose={close}
              onSubmit={async (values) => {
                const { url } = await make.mutateAsync({
                  page_slug: values.text('page_slug'),
                  expires_in: lifetimeOf(values.text('expires_in')),
                });
                if (url !== undefined) setMade(new URL(url, location.origin).href);
              }}
            >
              <TextField
                name="page_slug"
                label="Page"
                required
                hint="The page that the link is for, such as status."
              />
              <SelectField name="expires_in" label="Valid for" options={LIFETIMES} defaultValue="30d" />
            </DialogForm>
          )}
        >
          New link
        </DialogButton>
      </div>
      {items === undefined ? <Pending of={links} what="the links" /> : <Failed of={links} />}
      {items?.length === 0 ? <p className="muted">No link yet.</p> : null}
      <ul className="files">
        {items?.map(({ id, page_slug, expires_at, revoked_at }) => {
          const isLive = revoked_at === null && Date.parse(expires_at) > now;
          return (
            <li key={id}>
              <span>
                <strong>{page_slug}</strong>{' '}
                {isLive ? (
                  <Badge tone="ok">Live</Badge>
                ) : (
                  <Badge>{revoked_at === null ? 'Expired' : 'Revoked'}</Badge>
                )}
                <span className="small muted">
                  until <Time at={expires_at} />
                </span>
              </span>
              {isLive ? (
                <ConfirmButton
                  size="small"
                  aria-label={`Revoke the link to ${page_slug}`}
                  ask={{
                    title: `Revoke the link to ${page_slug}?`,
                    consequence: 'From now on, everyone who opens it gets an error. This cannot be undone.',
                    action: 'Revoke link',
                    run: () => revoke.mutateAsync(id),
                  }}
                >
                  Revoke
                </ConfirmButton>
              ) : null}
            </li>
          );
        })}
      </ul>
      {made === undefined ? null : (
        <Dialog title="The new link" onClose={() => setMade(undefined)}>
          <Secret text={made} name="the link" />
        </Dialog>
      )}
    </div>
  );
};
