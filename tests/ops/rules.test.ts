import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { createMetrics } from '../../api/http/metrics.ts';
import { PREFIX } from '../../api/metrics/instruments.ts';
import { scrapeOf } from '../support/metrics.ts';

const promtool = (...args: string[]) => spawnSync('promtool', args, { encoding: 'utf8' });
const isInstalled = promtool('--version').status === 0;

const dashboard = z.object({
  uid: z.string(),
  panels: z.array(
    z.looseObject({ id: z.int(), title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })) }),
  ),
});

const text = (path: string): string => readFileSync(`ops/${path}`, 'utf8');
const panels = () => dashboard.parse(JSON.parse(text('dashboard.json'))).panels;

/** Names of metrics in an expression, without the suffixes of histograms. */
const namesIn = (source: string): string[] =>
  [...source.matchAll(/\b(?:workflow|process|nodejs)_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, ''),
  );

describe('Alerts and dashboard', () => {
  it('name only metrics that a scrape has, and the dashboard shows all metrics of the product', async () => {
    const metrics = createMetrics({ build: { version: '1', role: 'all' } });
    const { names } = scrapeOf(await metrics.expose());
    const shown = panels().flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)));
    expect([...shown, ...namesIn(text('alerts.yml'))].filter((name) => !names.has(name))).to.deep.equal([]);
    const own = [...names].filter((name) => name.startsWith(PREFIX));
    expect(own).to.have.length.above(20);
    expect(own.filter((name) => !shown.includes(name))).to.deep.equal([]);
  });

  it('have panels with distinct ids and titles', () => {
    const all = panels();
    expect(new Set(all.map(({ id }) => id)).size).to.equal(all.length);
    expect(new Set(all.map(({ title }) => title)).size).to.equal(all.length);
  });

  it('have each metric of the product explained in the guide', async () => {
    const { names } = scrapeOf(await createMetrics({ build: { version: '1', role: 'all' } }).expose());
    const guide = readFileSync('docs/operations.md', 'utf8');
    const own = [...names].filter((name) => name.startsWith(PREFIX));
    expect(own.filter((name) => !guide.includes(`\`${name}\``))).to.deep.equal([]);
  });

  it('have each alert explained in the guide', () => {
    const guide = readFileSync('docs/operations.md', 'utf8');
    const alerts = [...text('alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);
    expect(alerts).to.have.length.above(10);
    expect(alerts.filter((name) => !guide.includes(`\`${name}\``))).to.deep.equal([]);
  });

  it('are accepted by promtool, and fire when they should', function () {
    if (!isInstalled) this.skip();
    for (const args of [
      ['check', 'rules', 'ops/alerts.yml'],
      ['test', 'rules', 'ops/alerts.test.yml'],
    ]) {
      const { status, stdout, stderr } = promtool(...args);
      expect(status, stdout + stderr).to.equal(0);
    }
  });

  it('have only expressions that promtool parses, also in the dashboard', function () {
    if (!isInstalled) this.skip();
    const rules = panels().flatMap(({ targets }) =>
      targets.map(({ expr }, at) => ({
        record: `panel:${at}`,
        expr: expr.replaceAll('$__rate_interval', '5m'),
      })),
    );
    const folder = mkdtempSync(join(tmpdir(), 'panels-'));
    const file = join(folder, 'panels.yml');
    try {
      writeFileSync(
        file,
        JSON.stringify({ groups: rules.map((rule, at) => ({ name: `g${at}`, rules: [rule] })) }),
      );
      const { status, stderr } = promtool('check', 'rules', file);
      expect(status, stderr).to.equal(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
