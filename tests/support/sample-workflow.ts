/** The common part of test workflows: an amount that is submitted, approved by an admin while it is small, and paid. */

export const STATES = [
  { key: 'draft', label: 'Draft' },
  { key: 'submitted', label: 'Submitted' },
  { key: 'approved', label: 'Approved' },
  { key: 'paid', label: 'Paid', final: true },
];

/** The transitions from draft to approval and back. */
export const TO_APPROVAL = [
  { event_name: 'submit', from: 'draft', to: 'submitted', required_fields: ['title'] },
  {
    event_name: 'approve',
    from: 'submitted',
    to: 'approved',
    roles: ['admin' as const],
    guard: 'record.amount < 1000',
    guard_label: 'Small enough',
  },
  { event_name: 'send_back', from: ['submitted', 'approved'], to: 'draft' },
];
