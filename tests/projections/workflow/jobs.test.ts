import { expect } from 'chai';
import { type JobDoc, jobsProjection } from '../../../projections/workflow/jobs.ts';
import { linksProjection } from '../../../projections/workflow/public-links.ts';
import { workflowsProjection } from '../../../projections/workflow/workflows.ts';
import { INVOICES } from '../../domain/workflow/samples.ts';
import { folded, type PastEvent } from '../../support/folded.ts';
import { BEGINNING } from '../../support/given.ts';

const time = (seconds: number): string => new Date(BEGINNING + seconds * 1000).toISOString();
const base = { record_id: 'r', entity_name: 'invoice' };
const running = { workflow: 'invoices', workflow_version: 2 };

describe('Jobs', () => {
  const created: PastEvent = {
    type: 'RecordCreated',
    data: { ...base, values: {}, types: {}, created_by: 'ann', job: { ...running, state: 'draft' } },
  };
  const started: PastEvent = { type: 'JobStarted', data: { ...base, ...running, state: 'draft' } };
  const moved: PastEvent = {
    type: 'JobTransitioned',
    data: { ...base, ...running, from_state: 'draft', to_state: 'submitted', event_name: 'submit' },
  };
  const overridden: PastEvent = {
    type: 'JobOverridden',
    data: { ...base, ...running, from_state: 'submitted', to_state: 'paid', reason: 'Cash.' },
  };
  const jobAfter = (...story: PastEvent[]): JobDoc | undefined =>
    // The collection contains only documents of its projection.
    folded(jobsProjection, story).get('jobs/acme/r') as JobDoc | undefined;

  it('start with a record or later, and not for an unknown record', () => {
    const plain: PastEvent = {
      type: 'RecordCreated',
      data: { ...base, values: {}, types: {}, created_by: 'ann' },
    };
    expect(jobAfter(plain)).to.equal(undefined);
    for (const story of [[created], [plain, started]]) {
      const begun = time(story.length);
      expect(jobAfter(...story)).to.deep.include({
        id: 'r',
        entity_name: 'invoice',
        ...running,
        state: 'draft',
        version: 1,
        created_at: begun,
        updated_at: begun,
      });
    }
  });

  it('are found by their present state only', () => {
    const states = (job: JobDoc | undefined) =>
      ['draft', 'submitted', 'paid'].filter((state) =>
        job?.facets.some((facet) => facet.includes(`"${state}"`)),
      );
    expect(states(jobAfter(created))).to.deep.equal(['draft']);
    expect(states(jobAfter(created, moved))).to.deep.equal(['submitted']);
    expect(states(jobAfter(created, moved, overridden))).to.deep.equal(['paid']);
  });

  it('list each move with its actor', () => {
    const documents = folded(jobsProjection, [created, moved, overridden]);
    expect(documents.get('job_moves/acme/r.1')).to.deep.equal({
      job_id: 'r',
      seq: 1,
      at: time(2),
      from_state: 'draft',
      to_state: 'submitted',
      event_name: 'submit',
      actor: { kind: 'user', id: 'ann' },
    });
    expect(documents.get('job_moves/acme/r.2')).to.deep.include({
      event_name: 'admin_override',
      override: true,
      reason: 'Cash.',
    });
  });

  it('are hidden while their record is being deleted', () => {
    const deletion = (type: string): PastEvent => ({ type, data: { ...base, deletion_id: 'd' } });
    const before = jobAfter(created, moved);
    const hidden = jobAfter(created, moved, deletion('RecordDeletionStarted'));
    expect(hidden?.facets).to.deep.equal([]);
    expect(
      jobAfter(created, moved, deletion('RecordDeletionStarted'), deletion('RecordDeletionAbandoned')),
    ).to.deep.equal(before);
    expect(jobAfter(created, moved, deletion('RecordDeletionStarted'), deletion('RecordDeleted'))).to.equal(
      undefined,
    );
  });
});

describe('Public links', () => {
  const link = (id: string, tenantId: string): PastEvent => ({
    type: 'PublicLinkCreated',
    tenantId,
    data: {
      link_id: id,
      job_id: 'j',
      entity_id: 'j',
      page_slug: 'status',
      token_hash: `hash-${id}`,
      expires_at: time(100),
    },
  });

  it('are found by their token’s hash in any tenant until they are revoked', () => {
    const story = [link('one', 'acme'), link('two', 'other')];
    const before = folded(linksProjection, story);
    expect(before.get('link_tokens/platform/hash-one')).to.deep.include({
      tenant_id: 'acme',
      link_id: 'one',
    });
    expect(before.get('link_tokens/platform/hash-two')).to.deep.include({ tenant_id: 'other' });
    const revoked = { link_id: 'one', job_id: 'j', token_hash: 'hash-one' };
    const after = folded(linksProjection, [...story, { type: 'PublicLinkRevoked', data: revoked }]);
    expect(after.has('link_tokens/platform/hash-one')).to.equal(false);
    expect(after.has('link_tokens/platform/hash-two')).to.equal(true);
    expect(after.get('links/acme/one')).to.deep.include({ revoked_at: time(3), page_slug: 'status' });
    expect(JSON.stringify(after.get('links/acme/one'))).not.to.contain('hash');
  });
});

describe('Workflows', () => {
  it('show their newest definition and their published version', () => {
    const other = { ...INVOICES, initial: 'submitted' };
    const told = (type: string, definition: unknown, version?: number): PastEvent => ({
      type,
      data: { name: 'invoices', definition, ...(version === undefined ? {} : { version }) },
    });
    const story = [
      told('WorkflowCreated', INVOICES),
      told('WorkflowPublished', INVOICES, 1),
      told('WorkflowDraftSaved', other),
    ];
    const at = (count: number) =>
      folded(workflowsProjection, story.slice(0, count)).get('workflows/acme/invoices');
    expect(at(1)).to.deep.include({ version: 0, published: null, published_at: null, draft: INVOICES });
    expect(at(2)).to.deep.include({ version: 1, published: INVOICES, published_at: time(2) });
    expect(at(3)).to.deep.equal({
      name: 'invoices',
      draft: other,
      published: INVOICES,
      version: 1,
      published_at: time(2),
      created_at: time(1),
      updated_at: time(3),
    });
  });
});
