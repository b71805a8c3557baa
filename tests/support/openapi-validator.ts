import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';
import { Router } from '../../api/http/router.ts';

/**
 * Checks an answer against the OpenAPI document: throws for an unknown path, an undocumented status, or a body that
 * does not match its schema. The e2e client uses it for every answer.
 */
export type AnswerCheck = (method: string, path: string, status: number, body: unknown) => void;

type Json = { readonly [key: string]: unknown };

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const child = (value: unknown, key: string): Json | undefined => {
  const found = isJson(value) ? value[key] : undefined;
  return isJson(found) ? found : undefined;
};

/** The paths of an operation: its own, and those at which it is served as well. */
const pathsOf = (template: string, operation: Json | undefined): readonly string[] => [
  template,
  ...z.array(z.string()).default([]).parse(operation?.['x-aliases']),
];

/** `METHOD path` of every route of a document. */
export const routesOf = (document: unknown): readonly string[] =>
  Object.entries(child(document, 'paths') ?? {}).flatMap(([template, item]) =>
    METHODS.flatMap((method) => {
      const operation = child(item, method);
      const paths = operation === undefined ? [] : pathsOf(template, operation);
      return paths.map((path) => `${method.toUpperCase()} ${path}`);
    }),
  );

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** Undocumented answers that every path may give to an unsupported method or a malformed request. */
const UNDOCUMENTED: ReadonlySet<number> = new Set([404, 405, 408, 426, 431]);

const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');

interface Operation {
  readonly template: string;
  readonly method: string;
  readonly responses: Json;
}

/** @param document the answer of `GET /openapi.json` */
export const createAnswerCheck = (document: unknown): AnswerCheck => {
  if (!isJson(document)) throw new Error('the document is no object');
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  formats.default(ajv);
  const root: AnySchema = { ...document };
  ajv.addSchema(root, 'openapi');
  const router = new Router<Operation>();
  for (const [template, item] of Object.entries(child(document, 'paths') ?? {})) {
    for (const method of METHODS) {
      const operation = child(item, method);
      const responses = child(operation, 'responses');
      if (responses === undefined) continue;
      for (const path of pathsOf(template, operation)) {
        router.add(method.toUpperCase(), path.replaceAll(/\{([^}]+)\}/g, ':$1'), {
          template,
          method,
          responses,
        });
      }
    }
  }
  const compiled = new Map<string, ValidateFunction>();
  const validatorAt = (at: string): ValidateFunction => {
    const known = compiled.get(at) ?? ajv.compile({ $ref: `openapi#${at}` });
    compiled.set(at, known);
    return known;
  };
  const errorAt = pointer('components', 'schemas', 'Error');

  const check = (at: string, where: string, body: unknown): void => {
    const validate = validatorAt(at);
    if (validate(body)) return;
    const problems = (validate.errors ?? []).map((e) => `${e.instancePath || '(the body)'} ${e.message}`);
    throw new Error(`${where}: the body does not match the document: ${problems.join('; ')}`);
  };

  return (method, path, status, body) => {
    const where = `${method.toUpperCase()} ${path} → ${status}`;
    const match = router.find(path.split('?')[0] ?? path);
    const operation = match?.resource.endpoints.get(method.toUpperCase())?.target;
    if (operation === undefined) {
      if (!UNDOCUMENTED.has(status)) throw new Error(`${where}: the document has no such path and method`);
      check(errorAt, where, body);
      return;
    }
    const response = child(operation.responses, String(status));
    if (response === undefined) throw new Error(`${where}: the document does not have this status`);
    if (status >= 400 && typeof response.$ref === 'string') {
      check(errorAt, where, body);
      return;
    }
    const content = child(response, 'content');
    // A route with several content types returns no JSON when the caller asks for another one.
    if (body === undefined && Object.keys(content ?? {}).some((type) => type !== 'application/json')) return;
    const schema = child(child(content, 'application/json'), 'schema');
    if (schema === undefined) {
      if (isJson(body) || Array.isArray(body)) throw new Error(`${where}: the document has no body here`);
      return;
    }
    const base = pointer('paths', operation.template, operation.method, 'responses', String(status));
    check(`${base}${pointer('content', 'application/json', 'schema')}`, where, body);
  };
};
