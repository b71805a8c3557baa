import type { Definition } from '../../../domain/workflow/definition.ts';
import { STATES, TO_APPROVAL } from '../../support/sample-workflow.ts';

/** An invoice's workflow: a draft is submitted, then approved by an admin or sent back; paid is final. */
export const INVOICES: Definition = {
  initial: 'draft',
  states: STATES,
  transitions: [
    ...TO_APPROVAL,
    { event_name: 'pay', from: 'approved', to: 'paid', guard: 'payload.confirmed == true' },
    { event_name: 'touch', from: ['draft', 'submitted'], to: 'draft' },
  ],
};

export const change = (own: Partial<Definition>): Definition => ({ ...INVOICES, ...own });
