import type { Blocker, RecordFinder, Referrer } from './deletion-marks.ts';
import type { Schemas } from './schemas.ts';

/**
 * Finds the records that prevent a deletion, by the read model; none if there are more than `most` referrers. Writes
 * nothing; concurrent writes may make the result outdated.
 */
export const surveyDeletion = async (
  { finder, schemas }: { readonly finder: RecordFinder; readonly schemas: Schemas },
  tenantId: string,
  rootId: string,
  most: number,
): Promise<readonly Blocker[]> => {
  /** As stored now, once per entity: another node may have changed its reference rules. */
  const latestSchemas = new Map<string, ReturnType<Schemas['findLatest']>>();
  const fieldsOf = async (entityName: string) => {
    const schema = latestSchemas.get(entityName) ?? schemas.findLatest(tenantId, entityName);
    latestSchemas.set(entityName, schema);
    return (await schema)?.fields ?? [];
  };

  /** Of the fields by which a referrer points to the target: the first that cascades, else the first that restricts. */
  const decidingField = async ({ entity_name: entityName, values }: Referrer, targetId: string) => {
    const pointing = (await fieldsOf(entityName)).filter(
      ({ key, reference }) => reference !== undefined && values[key] === targetId,
    );
    const having = (rule: string) => pointing.find(({ reference }) => reference?.on_delete === rule);
    return having('cascade') ?? having('restrict');
  };

  // Waits until the read model includes all writes that were answered to the tenant.
  await finder.readTo(tenantId, undefined);
  const members = new Set([rootId]);
  const blockers: Blocker[] = [];
  let surveyed = 0;
  // The loop also visits members that it adds.
  for (const targetId of members) {
    for await (const referrer of finder.referrers(tenantId, targetId)) {
      surveyed += 1;
      if (surveyed > most) return [];
      const { id, entity_name: entityName } = referrer;
      const field = members.has(id) ? undefined : await decidingField(referrer, targetId);
      if (field === undefined) continue;
      if (field.reference?.on_delete === 'cascade') members.add(id);
      else blockers.push({ targetId, referrerId: id, entityName, fieldKey: field.key });
    }
  }
  return blockers.filter(({ referrerId }) => !members.has(referrerId));
};
