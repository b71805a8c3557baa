import { requestBytes } from '../http/load.ts';
import { inFolder, startPlatformChild } from '../http/platform.ts';
import { tenantToken } from '../http/tokens.ts';
import { ids } from '../logs.ts';
import { type Line, milliseconds, perSecond } from '../report.ts';
import { contextOf, createTenant, makeMany, readModelCaughtUp, withUseCases } from '../use-cases.ts';
import { alternately, rateOf } from './load.ts';

const TENANT = 'bench';
const ACCOUNTS = 400;
const CONNECTIONS = 64;
const LEAST = 800;
const MOST_MS = 150;
const PATH = '/api/v1/tenant/reports/trial-balance?to=2026-12-31';

/** Compares repeated trial balances of one state and range with trial balances that each have a new range. */
export const benchReports = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    await makeLedger(folder);
    const platform = await startPlatformChild(folder);
    try {
      const token = tenantToken(TENANT, 'ann');
      const get = (path: string) => requestBytes('GET', path, { token });
      const seconds = Math.max(0.5, 3 * scale);
      let day = Date.UTC(1900, 0, 1);
      const another = () => {
        day += 86_400_000;
        return get(`${PATH}&from=${new Date(day).toISOString().slice(0, 10)}`);
      };
      const same = () => rateOf(platform.port, CONNECTIONS, seconds, () => [get(PATH)]);
      const other = () =>
        rateOf(platform.port, CONNECTIONS, seconds, () => Array.from({ length: 200 }, another));
      await same();
      const rates = await alternately(3, { same, other });
      return [
        {
          figure: `trial balance of ${ACCOUNTS} accounts, ${CONNECTIONS} connections`,
          value: perSecond(rates.same.perSecond),
          yardstick: { name: 'each of another range', value: perSecond(rates.other.perSecond) },
          target: { text: `≥ ${LEAST}/s`, met: rates.same.perSecond >= LEAST },
        },
        {
          figure: '… p99',
          value: milliseconds(rates.same.p99),
          yardstick: { name: 'each of another range', value: milliseconds(rates.other.p99) },
          target: { text: `≤ ${MOST_MS} ms`, met: rates.same.p99 <= MOST_MS },
        },
      ];
    } finally {
      await platform.stop();
    }
  });

const makeLedger = (folder: string): Promise<void> =>
  withUseCases(folder, async (useCases) => {
    await createTenant(useCases, TENANT, { entitlements: { ledger: true, assistant: false } });
    await useCases.authentication.authenticate(tenantToken(TENANT, 'ann'), 'tenant');
    for (let nth = 0; nth < ACCOUNTS; nth += 1) {
      const account = { code: `A${nth}`, name: `Account ${nth}`, type: 'Asset', active: true } as const;
      await useCases.chart.openAccount(TENANT, account, contextOf('ann'));
    }
    await makeMany(
      ACCOUNTS,
      50,
      (nth) => {
        const lines = [
          { account_code: `A${nth}`, debit: 100 + nth, credit: 0 },
          { account_code: `A${(nth + 1) % ACCOUNTS}`, debit: 0, credit: 100 + nth },
        ];
        const content = { date: `2026-0${1 + (nth % 9)}-15`, memo: '', currency: 'EUR', lines };
        const entry = { id: ids.next(), source: { kind: 'bench' }, content };
        return useCases.posting.postOnce(TENANT, entry, contextOf('ann'));
      },
      (made) => readModelCaughtUp(useCases, TENANT, 'ledger', made.at(-1)?.position),
    );
  });
