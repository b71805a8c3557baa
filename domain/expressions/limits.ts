import { ExpressionError, LIMITS } from './tree.ts';

/** Counts nodes and nesting during parsing, so that neither recursion nor the tree exceeds the limits. */
export class Limits {
  #nodes = 0;
  #depth = 0;

  /** Counts a node. @throws {ExpressionError} above the limit */
  node(at: number, path?: string): { readonly at: number } {
    this.#nodes += 1;
    if (this.#nodes > LIMITS.nodes) {
      throw new ExpressionError(`At most ${LIMITS.nodes} operators, names and literals.`, at, path);
    }
    return { at };
  }

  /** Runs `parse` one level deeper. @throws {ExpressionError} above the limit */
  nested<T>(at: number, parse: () => T, path?: string): T {
    this.#depth += 1;
    if (this.#depth > LIMITS.depth) {
      throw new ExpressionError(`Nested deeper than ${LIMITS.depth} levels.`, at, path);
    }
    const result = parse();
    this.#depth -= 1;
    return result;
  }
}
