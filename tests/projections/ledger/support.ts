import { ledgerProjection } from '../../../projections/ledger/ledger.ts';
import { memoryReadModel } from '../../support/memory-reader.ts';

export const TENANT = 'acme';

/** A read model of the ledger in memory, of a tenant with the accounts A and B. */
export const books = () => {
  const model = memoryReadModel(ledgerProjection);
  let revision = 0;
  let month = 2;
  const fold = (type: string, data: object): void => {
    const actor = { kind: 'user', id: 'ann' };
    const at = Date.UTC(2026, month, 15) + revision;
    const id = `event-${revision}`;
    const place = { stream: 'acme.journal-main', revision, position: String(revision).padStart(16, '0') };
    model.fold({ type, data, id, tenantId: TENANT, ...place, at, actor, impersonatedBy: undefined });
    revision += 1;
  };
  const open = (code: string): void =>
    fold('AccountOpened', { account_id: `id-${code}`, code, name: code, type: 'Asset', active: true });
  const post = (number: number, date: string): void => {
    const line = { account_name: 'x', debit: 0, credit: 0 };
    fold('EntryPosted', {
      entry_id: `entry-${number}`,
      attempt_id: `attempt-${number}`,
      number,
      date,
      memo: '',
      currency: 'EUR',
      lines: [
        { ...line, account_code: 'A', debit: 5 },
        { ...line, account_code: 'B', credit: 5 },
      ],
      total: 5,
      source: { kind: 'manual' },
      drafted_at: '2026-01-01T00:00:00.000Z',
    });
  };
  open('A');
  open('B');
  const nextMonth = (): void => {
    month += 1;
  };
  return { ...model, post, open, nextMonth, end: () => String(revision).padStart(16, '0') };
};
