/**
 * Finds an endpoint by the segments of its path, in a tree: one look-up per segment, while Express would try a regular
 * expression per route. The tree also knows the methods of a path (405, `Allow`).
 */

interface Node<T> {
  readonly fixed: Map<string, Node<T>>;
  variable: Node<T> | undefined;
  resource: Resource<T> | undefined;
}

/** All methods of one path pattern. */
interface Resource<T> {
  readonly pattern: string;
  /** By upper-case HTTP method; `GET` also serves `HEAD`. */
  readonly endpoints: Map<string, { readonly target: T; readonly names: readonly string[] }>;
  /** The value of `Allow`. */
  readonly allowed: string[];
}

/** The variables of a path with their values, still percent-encoded. */
export type Segments = readonly (readonly [name: string, value: string])[];

export interface Match<T> {
  readonly resource: Resource<T>;
  /** The raw segments at the pattern's variables, in order. */
  readonly values: readonly string[];
}

const VARIABLE = /^:([A-Za-z_][A-Za-z0-9_]*)$/;

const newNode = <T>(): Node<T> => ({ fixed: new Map(), variable: undefined, resource: undefined });

export class Router<T> {
  readonly #root = newNode<T>();

  /** @throws for a pattern other than plain segments and `:name`, and for a duplicate path and method */
  add(method: string, pattern: string, target: T): void {
    if (!pattern.startsWith('/')) throw new Error(`the path ${pattern} must begin with a slash`);
    const names: string[] = [];
    let node = this.#root;
    for (const segment of pattern.slice(1).split('/')) {
      const name = VARIABLE.exec(segment)?.[1];
      if (name !== undefined) {
        names.push(name);
        node.variable ??= newNode<T>();
        node = node.variable;
        continue;
      }
      if (/[:*{}()?+]/.test(segment)) throw new Error(`the path ${pattern} is no plain path`);
      const next = node.fixed.get(segment) ?? newNode<T>();
      node.fixed.set(segment, next);
      node = next;
    }
    node.resource ??= { pattern, endpoints: new Map(), allowed: ['OPTIONS'] };
    const { endpoints, allowed } = node.resource;
    if (endpoints.has(method)) throw new Error(`${method} ${pattern} is there twice`);
    const endpoint = { target, names };
    endpoints.set(method, endpoint);
    allowed.push(method);
    if (method === 'GET') {
      endpoints.set('HEAD', endpoint);
      allowed.push('HEAD');
    }
    allowed.sort();
  }

  /** @param path the path without its query, percent-encoded */
  find(path: string): Match<T> | undefined {
    const values: string[] = [];
    const resource = walk(this.#root, path.split('/'), 1, values);
    return resource === undefined ? undefined : { resource, values };
  }
}

/** A fixed segment takes precedence; the variable is tried when no path with the fixed segment matches. */
const walk = <T>(
  node: Node<T>,
  segments: readonly string[],
  at: number,
  values: string[],
): Resource<T> | undefined => {
  const segment = segments[at];
  if (segment === undefined) return node.resource;
  const fixed = node.fixed.get(segment);
  if (fixed !== undefined) {
    const found = walk(fixed, segments, at + 1, values);
    if (found !== undefined) return found;
  }
  if (node.variable === undefined || segment === '') return undefined;
  values.push(segment);
  const found = walk(node.variable, segments, at + 1, values);
  if (found === undefined) values.pop();
  return found;
};
