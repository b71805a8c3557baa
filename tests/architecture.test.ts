import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import type { IForbiddenRuleType } from 'dependency-cruiser';
import { violationsOf } from './support/cruise.ts';

/** The layers of the architecture. */
const SOURCES = ['domain', 'application', 'projections', 'infrastructure', 'api'] as const;
const EVERYTHING = [...SOURCES, 'tests', 'bench'];
const OURS = `^(${EVERYTHING.join('|')}|docs|console)/`;

const only = (folder: string, ...allowed: string[]): IForbiddenRuleType => ({
  name: `${folder} imports only ${allowed.join(', ')}`,
  severity: 'error',
  from: { path: `^${folder}/` },
  to: { path: OURS, pathNot: `^(${allowed.join('|')})/` },
});

/** Files of an area that other areas of the application may import. */
const PUBLIC: Readonly<Record<string, readonly string[]>> = {
  entities: ['deletion-marks', 'deletions', 'records', 'schemas'],
  identity: ['admin-appointments', 'authentication-claims', 'directory', 'identity'],
  notifications: ['raising'],
  partners: ['partner-directory'],
  tenancy: ['tenancy'],
  webhooks: ['event-data'],
  workflow: ['jobs', 'workflow-uses'],
};

const AREAS = globSync('application/*/')
  .map((path) => path.split('/')[1] ?? '')
  .filter((area) => area !== 'core' && area !== 'ports');

const ownAreas: IForbiddenRuleType[] = AREAS.map((area) => ({
  name: `application/${area} imports the core, the ports, itself and the public files of other areas`,
  severity: 'error',
  from: { path: `^application/${area}/` },
  to: {
    path: '^application/',
    pathNot: [
      `^application/(core|ports|${area})/`,
      ...Object.entries(PUBLIC).map(([other, files]) => `^application/${other}/(${files.join('|')})\\.`),
    ],
  },
}));

const RULES: IForbiddenRuleType[] = [
  ...ownAreas,
  {
    name: 'application/core imports no area',
    severity: 'error',
    from: { path: '^application/core/' },
    to: { path: '^application/', pathNot: '^application/(core|ports)/' },
  },
  {
    name: 'application/ports imports no other part of the application',
    severity: 'error',
    from: { path: '^application/ports/' },
    to: { path: '^application/', pathNot: '^application/ports/' },
  },
  {
    name: 'a projection imports its own area and the core',
    severity: 'error',
    from: { path: '^projections/([^/]+)/' },
    to: { path: '^projections/', pathNot: '^projections/($1)/' },
  },
  only('domain', 'domain'),
  only('application', 'application', 'domain'),
  only('projections', 'projections', 'domain'),
  only('infrastructure', 'infrastructure', 'domain', 'application/ports'),
  only('api', ...SOURCES),
  {
    name: 'domain uses zod and nothing else, no part of Node either',
    severity: 'error',
    from: { path: '^domain/' },
    to: { pathNot: '^(domain/|zod$|.*node_modules/zod/)' },
  },
  {
    name: 'projections use nothing but the domain',
    severity: 'error',
    from: { path: '^projections/' },
    to: { pathNot: '^(domain|projections)/' },
  },
  {
    name: 'no cycles',
    severity: 'error',
    from: {},
    to: { circular: true },
  },
];

/** Intended exceptions from style rules: file and name of the rule. */
const EXCEPTIONS = new Set([
  'application/core/commands/stream-states.ts any',
  'tests/architecture.test.ts *',
]);

/** The text of a file without comments and quoted texts. */
const codeOf = (file: string): string =>
  readFileSync(file, 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'/g, "''");

const STYLE: readonly (readonly [string, RegExp, 'code' | 'text'])[] = [
  ['any', /(:|<|as|,|\|)\s*any\b/, 'code'],
  ['ts-ignore', /@ts-(ignore|expect-error|nocheck)/, 'text'],
  ['only', /\b(describe|it|context|suite|test)\.only\b/, 'code'],
  ['skip', /\b(describe|it|context|suite|test)\.skip\b|\bxit\(|\bxdescribe\(/, 'code'],
];

describe('the architecture', () => {
  it('holds: each folder imports only what its rule allows, and no imports form a cycle', async () => {
    const { violations, modules, dependencies } = await violationsOf(SOURCES, RULES);
    expect(violations).to.deep.equal([]);
    // Ensures that the check has read the product and not an empty folder.
    expect(modules).to.be.greaterThan(100);
    expect(dependencies).to.be.greaterThan(300);
  }).timeout(240_000);

  it('is checked: forbidden imports are reported', async () => {
    const forbidden = [only('application', 'application')];
    const { violations } = await violationsOf(['application', 'domain'], forbidden);
    expect(violations.length).to.be.greaterThan(20);
    const types = violations.filter(({ to }) => to.includes('domain/core/event'));
    expect(
      types.map(({ from }) => from),
      'an import of types counts',
    ).to.include('application/core/events/event-codec.js');
  }).timeout(240_000);

  it('has no source file of more than 300 lines', () => {
    const long = [...SOURCES, 'console/src']
      .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`))
      .filter((file) => readFileSync(file, 'utf8').trimEnd().split('\n').length > 300);
    expect(long).to.deep.equal([]);
  });

  // dependency-cruiser cannot read JSX.
  it('holds for the Console, which imports only itself and the client', () => {
    const files = globSync('console/src/**/*.{ts,tsx}');
    expect(files).not.to.deep.equal([]);
    const broken = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:from|import\(|import) ?'(\.[^']*)'/g)]
        .map(([, path = '']) => join(dirname(file), path))
        .filter((path) => !/^(console\/src|client\/src)\//.test(path))
        .map((path) => `${file} imports ${path}`),
    );
    expect(broken).to.deep.equal([]);
  });

  for (const [name, pattern, where] of STYLE) {
    it(`has no ${name} in sources and tests`, () => {
      const broken = [...EVERYTHING, 'console/src']
        .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`))
        .filter((file) => !EXCEPTIONS.has(`${file} ${name}`) && !EXCEPTIONS.has(`${file} *`))
        .filter((file) => pattern.test(where === 'code' ? codeOf(file) : readFileSync(file, 'utf8')));
      expect(broken).to.deep.equal([]);
    });
  }

  // biome.json forbids imports and globals of timers and random functions; this test finds members, like `Date.now`.
  it('reads the wall clock and draws random numbers only through the ports', () => {
    const broken = ['domain', 'application', 'projections', 'api/http', 'api/ws', 'api/routes', 'api/compose']
      .flatMap((folder) => globSync(`${folder}/**/*.ts`))
      .filter((file) => !file.startsWith('application/core/runtime/'))
      .filter((file) =>
        /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bAbortSignal\.timeout\b/.test(codeOf(file)),
      );
    expect(broken).to.deep.equal([]);
  });
});
