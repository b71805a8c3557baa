import type { Blocker, RecordFinder, Referrer } from './deletion-marks.ts';
import type { Schemas } from './schemas.ts';

/** The expected effect of a deletion on other records, from the read model. The maps hold entity names by record id. */
interface DeletionSurvey {
  /** Records that the deletion takes along. */
  readonly deleted: ReadonlyMap<string, string>;
  /** Records in which a reference is cleared. */
  readonly cleared: ReadonlyMap<string, string>;
  /** Records that prevent the deletion. */
  readonly blockers: readonly Blocker[];
  /** False when the survey stopped at its limit. */
  readonly isWhole: boolean;
}

type Fate = 'cascade' | 'restrict' | 'clear';

/**
 * Writes nothing; concurrent writes may make the result outdated.
 * @param most maximum number of referrers to read
 */
export const surveyDeletion = async (
  { finder, schemas }: { readonly finder: RecordFinder; readonly schemas: Schemas },
  tenantId: string,
  rootId: string,
  most = Infinity,
): Promise<DeletionSurvey> => {
  const deleted = new Map<string, string>();
  const cleared = new Map<string, string>();
  const blockers: Blocker[] = [];
  let surveyed = 0;
  const result = (isWhole: boolean): DeletionSurvey => {
    for (const id of deleted.keys()) cleared.delete(id);
    const standing = blockers.filter(({ referrerId }) => !deleted.has(referrerId));
    return { deleted, cleared, blockers: standing, isWhole };
  };

  /** As stored now, once per entity: another node may have changed its reference rules. */
  const latestSchemas = new Map<string, ReturnType<Schemas['findLatest']>>();
  const fieldsOf = async (entityName: string) => {
    const schema = latestSchemas.get(entityName) ?? schemas.findLatest(tenantId, entityName);
    latestSchemas.set(entityName, schema);
    return (await schema)?.fields ?? [];
  };

  /** The strongest rule (cascade, restrict, clear) among the fields by which a referrer points to the target. */
  const fateOf = async (
    { entity_name: entityName, values }: Referrer,
    targetId: string,
  ): Promise<{ fate: Fate; fieldKey: string } | undefined> => {
    const pointing = (await fieldsOf(entityName)).filter(
      ({ key, reference }) => reference !== undefined && values[key] === targetId,
    );
    for (const fate of ['cascade', 'restrict', 'clear'] as const) {
      const found = pointing.find(({ reference }) => reference?.on_delete === fate);
      if (found !== undefined) return { fate, fieldKey: found.key };
    }
    return undefined;
  };

  // Waits until the read model includes all writes that were answered to the tenant.
  await finder.readTo(tenantId, undefined);
  let level = [rootId];
  while (level.length > 0) {
    const next: string[] = [];
    for (const targetId of level) {
      for await (const referrer of finder.referrers(tenantId, targetId)) {
        surveyed += 1;
        if (surveyed > most) return result(false);
        const { id, entity_name: entityName } = referrer;
        if (id === rootId || deleted.has(id)) continue;
        const found = await fateOf(referrer, targetId);
        if (found === undefined) continue;
        if (found.fate === 'cascade') {
          deleted.set(id, entityName);
          next.push(id);
        } else if (found.fate === 'clear') cleared.set(id, entityName);
        else blockers.push({ targetId, referrerId: id, entityName, fieldKey: found.fieldKey });
      }
    }
    level = next;
  }
  return result(true);
};
