import { ChartOfAccounts } from '../../application/ledger/chart-of-accounts.ts';
import { Entries } from '../../application/ledger/entries.ts';
import { LedgerJournal } from '../../application/ledger/journal.ts';
import { PostingProcess, postingFinisher } from '../../application/ledger/posting-process.ts';
import { PostingRules } from '../../application/ledger/posting-rules.ts';
import { rulePoster } from '../../application/ledger/rule-poster.ts';
import { RuleRunner } from '../../application/ledger/rule-runner.ts';
import { PartnerDirectory } from '../../application/partners/partner-directory.ts';
import { ledgerAccountRoutes } from '../routes/ledger/ledger-accounts.ts';
import { ledgerEntryRoutes } from '../routes/ledger/ledger-entries.ts';
import { ledgerExportRoutes } from '../routes/ledger/ledger-exports.ts';
import { ledgerReportRoutes } from '../routes/ledger/ledger-reports.ts';
import { ledgerRuleRoutes } from '../routes/ledger/ledger-rules.ts';
import { ReportCache } from '../routes/ledger/report-cache.ts';
import type { Area } from './area.ts';
import type { AuditArea } from './audit.ts';
import type { Core } from './core.ts';

/** The general ledger: chart and lock, entries, posting rules and reports. */
export const composeLedger = (core: Core, { timeTravel }: AuditArea) => {
  const journal = new LedgerJournal(core);
  const chart = new ChartOfAccounts(core);
  const posting = new PostingProcess({ ...core, journal });
  const entries = new Entries({ ...core, journal, posting });
  const runner = new RuleRunner({ ...core, entries, posting });
  const partners = new PartnerDirectory(core.streams);
  const postingRules = new PostingRules({ ...core, journal, entries, partners, runner });
  const reports = new ReportCache(core.readModels.reader('ledger'));
  const deps = { ...core, journal, chart, entries, posting, postingRules, timeTravel, reports };
  return {
    chart,
    posting,
    routes: [
      ...ledgerAccountRoutes(deps),
      ...ledgerEntryRoutes(deps),
      ...ledgerRuleRoutes(deps),
      ...ledgerReportRoutes(deps),
      ...ledgerExportRoutes(deps),
    ],
    subscribers: [postingFinisher(posting), rulePoster({ ...core, runner, partners })],
  } satisfies Area & Record<string, unknown>;
};
