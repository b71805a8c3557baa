import type { DocumentReader } from '../../domain/core/projection.ts';
import {
  balanceSheet,
  presentBalances,
  profitAndLoss,
  type Range,
  trialBalance,
} from '../../projections/ledger/ledger-reports.ts';

/** Reports as the read model has them now. */

export const presentTrialBalance = async (reader: DocumentReader, tenantId: string, range: Range) =>
  trialBalance(await presentBalances(reader, tenantId, range), range);

export const presentProfitAndLoss = async (
  reader: DocumentReader,
  tenantId: string,
  range: Range & { readonly from: string },
) => profitAndLoss(await presentBalances(reader, tenantId, range), range);

export const presentBalanceSheet = async (
  reader: DocumentReader,
  tenantId: string,
  { currency, asOf }: { readonly currency: string; readonly asOf: string },
) => {
  const range = { currency, from: undefined, to: asOf };
  return balanceSheet(await presentBalances(reader, tenantId, range), { currency, asOf });
};
