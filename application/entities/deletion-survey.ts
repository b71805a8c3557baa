import type { Hindrance, RecordFinder, Referrer } from './deletion-marks.ts';
import type { Schemas } from './schemas.ts';

/** What a deletion would do to other records, by the read model; each id with its entity's name. */
export interface DeletionSurvey {
  /** Would go along. */
  readonly deleted: ReadonlyMap<string, string>;
  /** Would be cleared of a reference, and stay. */
  readonly cleared: ReadonlyMap<string, string>;
  /** What would stand against it. */
  readonly hindrances: readonly Hindrance[];
  /** False where the survey stopped early. */
  readonly isWhole: boolean;
}

type Fate = 'cascade' | 'restrict' | 'clear';

/**
 * Nothing is written, so that what happens meanwhile may change it.
 * @param most records that are looked at
 */
export const surveyDeletion = async (
  { finder, schemas }: { readonly finder: RecordFinder; readonly schemas: Schemas },
  tenantId: string,
  rootId: string,
  most = Infinity,
): Promise<DeletionSurvey> => {
  const deleted = new Map<string, string>();
  const cleared = new Map<string, string>();
  const hindrances: Hindrance[] = [];
  let looked = 0;
  const result = (isWhole: boolean): DeletionSurvey => {
    for (const id of deleted.keys()) cleared.delete(id);
    const standing = hindrances.filter(({ referrerId }) => !deleted.has(referrerId));
    return { deleted, cleared, hindrances: standing, isWhole };
  };

  /** The strongest of the fields by which a record points to another. */
  const fateOf = async (
    { entity_name: entityName, values }: Referrer,
    targetId: string,
  ): Promise<{ fate: Fate; fieldKey: string } | undefined> => {
    const fields = (await schemas.known(tenantId, entityName))?.fields ?? [];
    const pointing = fields.filter(
      ({ key, reference }) => reference !== undefined && values[key] === targetId,
    );
    for (const fate of ['cascade', 'restrict', 'clear'] as const) {
      const found = pointing.find(({ reference }) => reference?.on_delete === fate);
      if (found !== undefined) return { fate, fieldKey: found.key };
    }
    return undefined;
  };

  // Whatever callers were answered for is seen.
  await finder.readTo(tenantId, undefined);
  let level = [rootId];
  while (level.length > 0) {
    const next: string[] = [];
    for (const targetId of level) {
      for await (const referrer of finder.referrers(tenantId, targetId)) {
        looked += 1;
        if (looked > most) return result(false);
        const { id, entity_name: entityName } = referrer;
        if (id === rootId || deleted.has(id)) continue;
        const found = await fateOf(referrer, targetId);
        if (found === undefined) continue;
        if (found.fate === 'cascade') {
          deleted.set(id, entityName);
          next.push(id);
        } else if (found.fate === 'clear') cleared.set(id, entityName);
        else hindrances.push({ targetId, referrerId: id, entityName, fieldKey: found.fieldKey });
      }
    }
    level = next;
  }
  return result(true);
};
