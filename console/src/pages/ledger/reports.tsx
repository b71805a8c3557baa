import { useSearchParams } from 'wouter';
import { Page, Tabs } from '../../kit/index.ts';
import { LedgerLinks, RangeFields, useReportQuery } from './range.tsx';
import { BalanceSheet, ProfitAndLoss } from './statements.tsx';
import { TrialBalance } from './trial-balance.tsx';
import '../../styles/ledger.css';

/** The reports of the ledger, for any range of days, and as they stood at any position of the log. */
export default function Reports() {
  const [query, change] = useReportQuery();
  const [params, setParams] = useSearchParams();
  const tab = params.get('report') ?? 'trial-balance';
  const choose = (key: string): void =>
    setParams((present) => {
      const next = new URLSearchParams(present);
      next.set('report', key);
      return next;
    });
  return (
    <Page title="Ledger" about="What the posted entries add up to. Each figure leads to its entries.">
      <LedgerLinks />
      <RangeFields query={query} change={change} asOf={tab === 'balance-sheet'} />
      <Tabs
        label="Reports"
        value={tab}
        onChange={choose}
        tabs={[
          { key: 'trial-balance', title: 'Trial balance', content: <TrialBalance query={query} /> },
          { key: 'pnl', title: 'Profit and loss', content: <ProfitAndLoss query={query} /> },
          { key: 'balance-sheet', title: 'Balance sheet', content: <BalanceSheet query={query} /> },
        ]}
      />
    </Page>
  );
}
