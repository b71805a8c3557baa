import { expect } from 'chai';
import {
  createWorkflow,
  isPublished,
  MAX_VERSIONS,
  publishWorkflow,
  saveDraft,
  type WorkflowEvent,
  workflowDecider,
} from '../../../domain/workflow/workflow.ts';
import { BEGINNING, given } from '../../support/given.ts';
import { change, INVOICES } from './samples.ts';

const OTHER = change({ initial: 'submitted' });
const created: WorkflowEvent = { type: 'WorkflowCreated', data: { name: 'invoices', definition: INVOICES } };
const saved = (definition = OTHER): WorkflowEvent => ({
  type: 'WorkflowDraftSaved',
  data: { name: 'invoices', definition },
});
const published = (version: number, definition = INVOICES): WorkflowEvent => ({
  type: 'WorkflowPublished',
  data: { name: 'invoices', version, definition },
});
const workflow = (...events: WorkflowEvent[]) => given(workflowDecider, ...events);
const fine = () => [];
const wrong = { path: 'initial', code: 'unknown_state', message: 'No.' };

describe('a workflow', () => {
  it('is created once', () => {
    const command = { name: 'invoices', definition: INVOICES };
    workflow()
      .when((state) => createWorkflow(state, command))
      .gives(created);
    workflow(created)
      .when((state) => createWorkflow(state, command))
      .isRefused('already_exists', { field: 'name' });
  });

  it('takes drafts, and equal ones change nothing', () => {
    workflow(created)
      .when((state) => saveDraft(state, OTHER))
      .gives(saved());
    workflow(created)
      .when((state) => saveDraft(state, structuredClone(INVOICES)))
      .givesNothing();
    workflow()
      .when((state) => saveDraft(state, OTHER))
      .isRefused('not_found');
  });

  it('is published as version 1, 2, 3 …, and what is published not again', () => {
    workflow(created)
      .when((state) => publishWorkflow(state, fine))
      .gives(published(1));
    workflow(created, published(1))
      .when((state) => publishWorkflow(state, fine))
      .givesNothing();
    workflow(created, published(1), saved())
      .when((state) => publishWorkflow(state, fine))
      .gives(published(2, OTHER));
    workflow(created, published(1), saved(), saved(INVOICES))
      .when((state) => publishWorkflow(state, fine))
      .givesNothing();
    workflow()
      .when((state) => publishWorkflow(state, fine))
      .isRefused('not_found');
  });

  it('is not published while something is wrong, and says what', () => {
    workflow(created)
      .when((state) => publishWorkflow(state, () => [wrong]))
      .isRefused('validation_failed', { field: 'initial', issues: [wrong] });
  });

  it('is asked about its draft, not about what is published', () => {
    const asked: unknown[] = [];
    workflow(created, published(1), saved())
      .when((state) =>
        publishWorkflow(state, (definition) => {
          asked.push(definition);
          return [];
        }),
      )
      .events();
    expect(asked).to.deep.equal([OTHER]);
  });

  it('knows where each version stands, and when it was published', () => {
    const { state } = workflow(created, published(1), saved(), published(2, OTHER), saved(INVOICES));
    expect(state).to.deep.include({
      exists: true,
      versions: [1, 3],
      draft: INVOICES,
      published: OTHER,
      createdAt: BEGINNING + 1000,
      publishedAt: BEGINNING + 4000,
      updatedAt: BEGINNING + 5000,
    });
    expect(state.exists && isPublished(state)).to.equal(false);
  });

  it('has so many versions at most', () => {
    const { state } = workflow(created, published(1), saved());
    if (!state.exists) throw new Error('it is there');
    const full = { ...state, versions: Array.from({ length: MAX_VERSIONS }, (_, i) => i) };
    workflow()
      .when(() => publishWorkflow(full, fine))
      .isRefused('constraint_violated');
  });
});
