import { spawnSync } from 'node:child_process';

/** The program hledger, where it is installed, as an independent reader of exported journals. */

export const hledgerVersion = (): string | undefined => {
  const { status, stdout } = spawnSync('hledger', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
};

/** Balances by account and currency at the end of a day, as exact decimal text; omits zero balances. */
export const hledgerBalances = (journal: string, through: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const after = dayAfter(through);
  const run = spawnSync(
    'hledger',
    ['-f', '-', 'balance', '--flat', '--no-total', '-E', '-e', after, '-O', 'csv', '--layout=bare'],
    { input: journal, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  if (run.status !== 0) throw new Error(`hledger: ${run.stderr}`);
  for (const line of run.stdout.trimEnd().split('\n').slice(1)) {
    const [account = '', currency = '', balance = ''] = line
      .split('","')
      .map((cell) => cell.replaceAll('"', ''));
    if (Number(balance) !== 0) found.set(`${account} ${currency}`, balance);
  }
  return found;
};

const dayAfter = (day: string): string => {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + 1);
  return date.toISOString().slice(0, 10);
};
