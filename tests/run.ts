import { globSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * `npm run test:all`: every test file, unit tests first, and one closing line with the counts. Exits with 1 when
 * anything failed or nothing ran.
 */
// Servers write all that they can: every line is searched for credentials (`support/log-check.ts`).
process.env.TEST_LOG_LEVEL ??= 'trace';
const files = globSync('tests/**/*.test.ts').sort(
  (a, b) => Number(a.includes('/e2e/')) - Number(b.includes('/e2e/')) || a.localeCompare(b),
);
const mocha = new Mocha({ timeout: 20_000, reporter: 'spec', forbidOnly: true });
for (const file of files) mocha.addFile(file);
await mocha.loadFilesAsync();
const runner = mocha.run((failures) => {
  const { passes = 0, pending = 0 } = runner.stats ?? {};
  // Servers and handles that a test forgot must not keep a red or green run from ending.
  process.stdout.write(`\n${passes} passed, ${failures} failed, ${pending} skipped\n`, () =>
    process.exit(failures > 0 || passes === 0 ? 1 : 0),
  );
});
