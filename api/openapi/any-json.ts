/** Schemas of any JSON value in the document: `{}`, where the generator would define a recursive schema. */

type Json = { [key: string]: unknown };
const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ANONYMOUS = /^#\/components\/schemas\/(__schema\d+)$/;
/** The generated union of JSON's six kinds of value. */
const KINDS = 6;

const replaced = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(replaced);
  if (!isJson(value)) return value;
  if (typeof value.$ref === 'string' && ANONYMOUS.test(value.$ref)) {
    const { $ref: _any, ...rest } = value;
    return rest;
  }
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each)]));
};

/** @throws for a recursive schema without a name that is not any JSON */
export const withoutRecursion = <D extends object>(document: D): D => {
  const components = isJson(document) && isJson(document.components) ? document.components : {};
  const schemas = isJson(components.schemas) ? components.schemas : {};
  const kept = Object.entries(schemas).filter(([name, schema]) => {
    if (!name.startsWith('__schema')) return true;
    if (isJson(schema) && Array.isArray(schema.anyOf) && schema.anyOf.length === KINDS) return false;
    throw new Error(`a recursive schema has no name: ${JSON.stringify(schema).slice(0, 200)}`);
  });
  const plain = { ...document, components: { ...components, schemas: Object.fromEntries(kept) } };
  return replaced(plain) as D;
};
