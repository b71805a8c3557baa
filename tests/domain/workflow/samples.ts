import type { Definition } from '../../../domain/workflow/definition.ts';

/** An invoice's way: a draft is submitted, then approved by an admin or sent back; paid is the end. */
export const INVOICES: Definition = {
  initial: 'draft',
  states: [
    { key: 'draft', label: 'Draft' },
    { key: 'submitted', label: 'Submitted' },
    { key: 'approved', label: 'Approved' },
    { key: 'paid', label: 'Paid', final: true },
  ],
  transitions: [
    { event_name: 'submit', from: 'draft', to: 'submitted', required_fields: ['title'] },
    {
      event_name: 'approve',
      from: 'submitted',
      to: 'approved',
      roles: ['admin'],
      guard: 'record.amount < 1000',
      guard_label: 'Small enough',
    },
    { event_name: 'send_back', from: ['submitted', 'approved'], to: 'draft' },
    { event_name: 'pay', from: 'approved', to: 'paid', guard: 'payload.confirmed == true' },
    { event_name: 'touch', from: ['draft', 'submitted'], to: 'draft' },
  ],
};

export const change = (own: Partial<Definition>): Definition => ({ ...INVOICES, ...own });
