import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise, type IForbiddenRuleType } from 'dependency-cruiser';

export interface Violation {
  readonly rule: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Checks sources against rules of dependency-cruiser. It cannot parse TypeScript 7, so it reads a copy without types,
 * in which imports of types are plain imports and count as dependencies.
 */
export const violationsOf = async (
  folders: readonly string[],
  forbidden: IForbiddenRuleType[],
): Promise<{ violations: Violation[]; modules: number; dependencies: number }> => {
  const copy = mkdtempSync(join(tmpdir(), 'cruise-'));
  try {
    for (const file of folders.flatMap((folder) => globSync(`${folder}/**/*.ts`))) {
      const target = join(copy, file.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, withTypesAsImports(readFileSync(file, 'utf8')));
    }
    const { output } = await cruise([...folders], {
      baseDir: copy,
      validate: true,
      ruleSet: { forbidden },
      doNotFollow: { path: 'node_modules' },
    });
    if (typeof output === 'string') throw new Error('dependency-cruiser gave no result');
    const { violations, totalCruised, totalDependenciesCruised = 0 } = output.summary;
    return {
      violations: violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
      modules: totalCruised,
      dependencies: totalDependenciesCruised,
    };
  } finally {
    rmSync(copy, { recursive: true });
  }
};

const withTypesAsImports = (source: string): string => {
  const valued = source.replace(
    /^(import|export) (type )?(\{[^}]*\}|\w+|\* as \w+) from '([^']+)'/gm,
    (_all, keyword: string, _type, names: string, path: string) =>
      `${keyword} ${names.replace(/\btype (?=\w)/g, '')} from '${path.replace(/\.ts$/, '.js')}'`,
  );
  return stripTypeScriptTypes(valued).replace(/import\('(\.[^']+)\.ts'\)/g, "import('$1.js')");
};
