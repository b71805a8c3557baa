import { expect } from 'chai';
import {
  announceUse,
  createWorkflow,
  isPublished,
  MAX_VERSIONS,
  publishWorkflow,
  saveDraft,
  settleUse,
  type WorkflowEvent,
  workflowStream,
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
const workflow = (...events: WorkflowEvent[]) => given(workflowStream, ...events);
const fine = () => [];
const wrong = { path: 'initial', code: 'unknown_state', message: 'No.' };

describe('A workflow', () => {
  it('is created once', () => {
    const command = { name: 'invoices', definition: INVOICES };
    workflow()
      .when((state) => createWorkflow(state, command))
      .gives(created);
    workflow(created)
      .when((state) => createWorkflow(state, command))
      .isRefused('already_exists', { field: 'name' });
  });

  it('saves drafts, and equal ones change nothing', () => {
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

  it('is published as versions 1, 2, 3 …, and not again without a change', () => {
    workflow(created)
      .when((state, at) => publishWorkflow(state, fine, at))
      .gives(published(1));
    workflow(created, published(1))
      .when((state, at) => publishWorkflow(state, fine, at))
      .givesNothing();
    workflow(created, published(1), saved())
      .when((state, at) => publishWorkflow(state, fine, at))
      .gives(published(2, OTHER));
    workflow(created, published(1), saved(), saved(INVOICES))
      .when((state, at) => publishWorkflow(state, fine, at))
      .givesNothing();
    workflow()
      .when((state, at) => publishWorkflow(state, fine, at))
      .isRefused('not_found');
  });

  it('is not published with issues, and lists them', () => {
    workflow(created)
      .when((state, at) => publishWorkflow(state, () => [wrong], at))
      .isRefused('validation_failed', { field: 'initial', issues: [wrong] });
  });

  it('validates its draft, not its published version', () => {
    const asked: unknown[] = [];
    workflow(created, published(1), saved())
      .when((state, at) =>
        publishWorkflow(
          state,
          (definition) => {
            asked.push(definition);
            return [];
          },
          at,
        ),
      )
      .events();
    expect(asked).to.deep.equal([OTHER]);
  });

  it('keeps the revision and time of each version', () => {
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

  describe('that an entity is about to run', () => {
    const announced = (entity_name: string): WorkflowEvent => ({
      type: 'WorkflowUseAnnounced',
      data: { name: 'invoices', entity_name },
    });
    const settled = (entity_name: string, revision: number): WorkflowEvent => ({
      type: 'WorkflowUseSettled',
      data: { name: 'invoices', entity_name, announced: revision },
    });
    const publish = (story: ReturnType<typeof workflow>, now?: number) =>
      story.when((state, at) => publishWorkflow(state, fine, at), now);
    const isBusy = (...events: WorkflowEvent[]) =>
      publish(workflow(created, published(1), saved(), ...events)).isRefused('conflict');

    it('is not published until each announcement is settled', () => {
      isBusy(announced('bill'));
      isBusy(announced('bill'), announced('bill'), settled('bill', 3));
      isBusy(announced('bill'), announced('note'), settled('bill', 3));
      const all = [announced('bill'), announced('bill'), settled('bill', 4), settled('bill', 3)];
      publish(workflow(created, published(1), saved(), ...all)).gives(published(2, OTHER));
    });

    it('is published ten seconds after an announcement whose process crashed', () => {
      const story = workflow(created, published(1), saved(), announced('bill'));
      const at = BEGINNING + 4000;
      publish(story, at + 9999).isRefused('conflict');
      publish(story, at + 10_000).gives(published(2, OTHER));
      const { state } = workflow(created, published(1), announced('bill'), published(2, OTHER));
      expect(state).to.deep.include({ open: [], usedBy: ['bill'] });
    });

    it('keeps each entity once, and open announcements only', () => {
      const many = Array.from({ length: 50 }, () => announced('bill'));
      const { state } = workflow(created, published(1), ...many, announced('note'));
      expect(state).to.deep.include({ usedBy: ['bill', 'note'] });
      // The announcements are one second apart; those at least ten seconds old are dropped.
      expect(state.exists && state.open.length).to.equal(10);
    });

    it('settles an open announcement once', () => {
      const use = { entityName: 'bill', announced: 2 };
      workflow(created, published(1), announced('bill'))
        .when((state) => settleUse(state, use))
        .gives(settled('bill', 2));
      workflow(created, published(1), announced('bill'), settled('bill', 2))
        .when((state) => settleUse(state, use))
        .givesNothing();
      workflow()
        .when((state) => announceUse(state, 'bill'))
        .isRefused('not_found');
    });
  });

  it('is limited in versions', () => {
    const { state } = workflow(created, published(1), saved());
    if (!state.exists) throw new Error('it is there');
    const full = { ...state, versions: Array.from({ length: MAX_VERSIONS }, (_, i) => i) };
    workflow()
      .when((_state, at) => publishWorkflow(full, fine, at))
      .isRefused('constraint_violated');
  });
});
