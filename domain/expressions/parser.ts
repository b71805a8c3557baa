import { nextToken, type Token } from './lexer.ts';
import { instantOf } from './times.ts';
import {
  type CompareOperator,
  type Constant,
  EQUALITIES,
  type Expression,
  ExpressionError,
  KEYWORDS,
  LIMITS,
  Limits,
  type Operand,
  ORDERS,
  type Path,
  TEXT_FUNCTIONS,
} from './tree.ts';

const COMPARISONS: readonly CompareOperator[] = [...EQUALITIES, ...ORDERS];

/**
 * Parses the text form with the precedence of CEL, weakest first: `||`, `&&`, comparisons and `in`, `!`, calls. Takes
 * time linear in the text and never recurses deeper than {@link LIMITS}.
 * @throws {ExpressionError}
 */
export function parseExpression(text: string): Expression {
  // A UTF-16 unit takes one to three bytes, so most texts need no count.
  const bytes = 3 * text.length > LIMITS.bytes ? new TextEncoder().encode(text).length : 0;
  if (bytes > LIMITS.bytes)
    throw new ExpressionError(`The expression has more than ${LIMITS.bytes} bytes.`, LIMITS.bytes);
  return new Parser(text).whole();
}

class Parser {
  readonly #text: string;
  readonly #limits = new Limits();
  #token: Token;
  #end: number;

  constructor(text: string) {
    this.#text = text;
    ({ token: this.#token, end: this.#end } = nextToken(text, 0));
  }

  whole(): Expression {
    if (this.#isOver()) throw new ExpressionError('The expression is empty.', 0);
    const expression = this.#or();
    if (!this.#isOver()) throw this.#unexpected();
    return expression;
  }

  #or(): Expression {
    return this.#chain('or', '||', () => this.#chain('and', '&&', () => this.#relation()));
  }

  #chain(kind: 'and' | 'or', symbol: string, part: () => Expression): Expression {
    const first = part();
    if (!this.#is(symbol)) return first;
    const of = [first];
    const { at } = this.#limits.node(this.#token.at);
    while (this.#take(symbol)) of.push(part());
    return { kind, of, at };
  }

  #relation(): Expression {
    const left = this.#unary();
    const { text, at } = this.#token;
    const operator = COMPARISONS.find((each) => this.#is(each));
    if (operator !== undefined) {
      this.#limits.node(at);
      const compared = operand(left);
      this.#advance();
      const right = operand(this.#unary());
      return { kind: 'compare', operator, left: compared, right, at };
    }
    if (this.#token.kind !== 'name' || text !== 'in') return left;
    this.#limits.node(at);
    const searched = operand(left);
    this.#advance();
    return { kind: 'in', left: searched, list: this.#list(), at };
  }

  #unary(): Expression {
    const { at } = this.#token;
    if (this.#take('!')) {
      this.#limits.node(at);
      // `!(` counts as one level.
      const of = this.#limits.nested(at, () => (this.#take('(') ? this.#group() : this.#unary()));
      return { kind: 'not', of, at };
    }
    if (this.#take('(')) return this.#limits.nested(at, () => this.#group());
    return this.#operand();
  }

  #group(): Expression {
    const expression = this.#or();
    this.#expect(')');
    return expression;
  }

  #operand(): Expression {
    const token = this.#token;
    const { at } = token;
    if (token.kind === 'string') {
      this.#advance();
      return { kind: 'literal', value: token.text, ...this.#limits.node(at) };
    }
    if (token.kind === 'number') return this.#number(at, '');
    if (this.#take('-')) return this.#number(at, '-');
    if (token.kind !== 'name' || token.text === 'in') throw this.#unexpected();
    this.#advance();
    if (token.text === 'null') return { kind: 'literal', value: null, ...this.#limits.node(at) };
    if (token.text === 'true' || token.text === 'false') {
      return { kind: 'literal', value: token.text === 'true', ...this.#limits.node(at) };
    }
    return this.#is('(') ? this.#call(token.text, at) : this.#pathOrTextFunction(token.text, at);
  }

  #number(at: number, sign: string): Expression {
    const token = this.#token;
    if (token.kind !== 'number') throw this.#unexpected();
    this.#advance();
    return { kind: 'number', text: sign + token.text, ...this.#limits.node(at) };
  }

  #path(first: string, at: number): Path {
    this.#limits.node(at);
    const rest: string[] = [];
    while (this.#take('.')) rest.push(this.#name());
    return { kind: 'path', names: [first, ...rest], at };
  }

  #name(): string {
    const token = this.#token;
    if (token.kind !== 'name' || KEYWORDS.has(token.text)) throw this.#unexpected();
    this.#advance();
    return token.text;
  }

  #pathOrTextFunction(first: string, at: number): Expression {
    const path = this.#path(first, at);
    if (!this.#is('(')) return path;
    const [head, ...rest] = path.names;
    const name = rest.at(-1);
    const known = TEXT_FUNCTIONS.find((each) => each === name);
    if (known === undefined) throw new ExpressionError('Unknown function.', at);
    this.#limits.node(at);
    const target: Path = { ...path, names: [head, ...rest.slice(0, -1)] };
    const argument = this.#arguments(() => operand(this.#operand()));
    return { kind: 'text', function: known, target, argument, at };
  }

  #call(name: string, at: number): Expression {
    this.#limits.node(at);
    if (name === 'now') {
      this.#expect('(');
      this.#expect(')');
      return { kind: 'now', at };
    }
    if (name === 'has') {
      const path = this.#arguments(() => {
        const first = this.#token.at;
        return this.#path(this.#name(), first);
      });
      return { kind: 'has', path, at };
    }
    if (name !== 'timestamp') throw new ExpressionError('Unknown function.', at);
    const token = this.#arguments(() => {
      const argument = this.#token;
      if (argument.kind !== 'string') throw this.#unexpected();
      this.#advance();
      return argument;
    });
    const ms = instantOf(token.text);
    if (ms === undefined) throw new ExpressionError('This is not an RFC 3339 time.', token.at);
    return { kind: 'instant', ms, at };
  }

  #arguments<T>(parse: () => T): T {
    const { at } = this.#token;
    this.#expect('(');
    const result = this.#limits.nested(at, parse);
    this.#expect(')');
    return result;
  }

  #list(): Constant[] {
    const { at } = this.#token;
    this.#expect('[');
    const list: Constant[] = [];
    this.#limits.nested(at, () => {
      if (this.#is(']')) return;
      do {
        const item = operand(this.#operand());
        if (item.kind === 'path') throw new ExpressionError('A list may contain only literals.', item.at);
        list.push(item);
      } while (this.#take(','));
    });
    this.#expect(']');
    return list;
  }

  #isOver(): boolean {
    return this.#token.kind === 'end';
  }

  #is(symbol: string): boolean {
    return this.#token.kind === 'symbol' && this.#token.text === symbol;
  }

  #take(symbol: string): boolean {
    const found = this.#is(symbol);
    if (found) this.#advance();
    return found;
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw this.#unexpected(symbol);
  }

  #advance(): void {
    ({ token: this.#token, end: this.#end } = nextToken(this.#text, this.#end));
  }

  #unexpected(wanted?: string): ExpressionError {
    const { kind, text, at } = this.#token;
    const found = kind === 'end' ? 'end' : JSON.stringify(text.slice(0, 40).toWellFormed());
    const hint = wanted === undefined ? '' : `; ${JSON.stringify(wanted)} was expected`;
    return new ExpressionError(`Unexpected ${found}${hint}.`, at);
  }
}

function operand(expression: Expression): Operand {
  switch (expression.kind) {
    case 'literal':
    case 'number':
    case 'instant':
    case 'now':
    case 'path':
      return expression;
    default:
      throw new ExpressionError('Only names and literals can be compared.', expression.at);
  }
}
