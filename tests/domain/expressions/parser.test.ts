import { parse as parseCel } from '@marcbachmann/cel-js';
import { expect } from 'chai';
import fc from 'fast-check';
import { parseExpression } from '../../../domain/expressions/parser.ts';
import { type Expression, ExpressionError, LIMITS } from '../../../domain/expressions/tree.ts';
import { filterOf, schema } from '../../support/filters.ts';

function problemOf(text: string): ExpressionError {
  try {
    parseExpression(text);
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error(`${text.slice(0, 60)} was parsed`);
}

/** An expression as nested lists, with chains of one operator in one list. */
function shape(expression: Expression): unknown {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return chain(expression.kind === 'and' ? '&&' : '||', expression.of.map(shape));
    case 'not':
      return ['!', shape(expression.of)];
    case 'compare':
      return [expression.operator, shape(expression.left), shape(expression.right)];
    case 'in':
      return ['in', shape(expression.left), expression.list.map(shape)];
    case 'has':
      return ['has', shape(expression.path)];
    case 'text':
      return [expression.function, shape(expression.target), shape(expression.argument)];
    case 'path':
      return expression.names.join('.');
    case 'literal':
      return { value: expression.value };
    case 'number':
      return { value: Number(expression.text) };
    case 'instant':
      return { instant: expression.ms };
    case 'now':
      return ['now'];
    default: {
      const unknown: never = expression;
      throw new Error(String(unknown));
    }
  }
}

const chain = (operator: string, parts: unknown[]): unknown[] => [
  operator,
  ...parts.flatMap((part) => (Array.isArray(part) && part[0] === operator ? part.slice(1) : [part])),
];

interface CelNode {
  readonly op: string;
  readonly args: unknown;
}

const isNode = (value: unknown): value is CelNode =>
  typeof value === 'object' && value !== null && 'op' in value;

const valueOfLiteral = (node: unknown): unknown => (isNode(node) ? node.args : undefined);

/** The same shape from the tree of a full CEL parser. */
function celShape(node: unknown): unknown {
  if (!isNode(node)) throw new Error('no node');
  const { op, args } = node;
  if (op === 'id') return args;
  if (op === 'value') return { value: typeof args === 'bigint' ? Number(args) : args };
  const list: unknown[] = Array.isArray(args) ? args : [args];
  if (op === '&&' || op === '||') return chain(op, list.map(celShape));
  if (op === '!_') return ['!', celShape(list[0])];
  if (op === '-_') return { value: -Number(valueOfLiteral(list[0])) };
  if (op === 'list') return list.map(celShape);
  if (op === '.') return `${String(celShape(list[0]))}.${String(list[1])}`;
  if (op === 'call' || op === 'rcall') {
    const given: unknown = list.at(-1);
    const parameters = Array.isArray(given) ? given.map(celShape) : [];
    const [name] = list;
    if (name === 'timestamp') {
      return { instant: Date.parse(String(valueOfLiteral(Array.isArray(given) ? given[0] : undefined))) };
    }
    return op === 'call' ? [name, ...parameters] : [name, celShape(list[1]), ...parameters];
  }
  return [op, ...list.map(celShape)];
}

describe('The text form of expressions', () => {
  it('binds operators as CEL does', () => {
    const shapes: [string, unknown][] = [
      ['a || b && !c', ['||', 'a', ['&&', 'b', ['!', 'c']]]],
      ['(a || b) && c', ['&&', ['||', 'a', 'b'], 'c']],
      [
        'a == 1 && b in [1, -2.5, null, "x"]',
        [
          '&&',
          ['==', 'a', { value: 1 }],
          ['in', 'b', [{ value: 1 }, { value: -2.5 }, { value: null }, { value: 'x' }]],
        ],
      ],
      ['!has(a) || a.contains("x")', ['||', ['!', ['has', 'a']], ['contains', 'a', { value: 'x' }]]],
      ['payload.a.b >= record.c', ['>=', 'payload.a.b', 'record.c']],
      [
        'now() < timestamp("2026-01-01T00:00:00+01:00")',
        ['<', ['now'], { instant: Date.parse('2025-12-31T23:00:00Z') }],
      ],
      ['contains.contains("x")', ['contains', 'contains', { value: 'x' }]],
      [' \t\n\r true ', { value: true }],
    ];
    for (const [text, expected] of shapes) expect(shape(parseExpression(text)), text).to.deep.equal(expected);
  });

  it('is a subset of CEL: a full CEL parser gives the same tree', () => {
    const texts = schema
      .map((fields) => Object.fromEntries(Object.entries(fields).filter(([name]) => name !== '__proto__')))
      .filter((fields) => Object.keys(fields).length > 0)
      .chain(filterOf)
      .map(({ text }) => text);
    fc.assert(
      fc.property(texts, (text) => {
        expect(shape(parseExpression(text))).to.deep.equal(celShape(parseCel(text).ast));
      }),
      { numRuns: 300 },
    );
  });

  it('parses strings with their escapes', () => {
    const strings: [string, string][] = [
      [String.raw`"a\"b\\c\n\t\u00e9\U0001F600\x41\101"`, 'a"b\\c\n\té😀AA'],
      [`'it is "so"'`, 'it is "so"'],
      [`"it's"`, "it's"],
      [String.raw`'\''`, "'"],
      ['"😀 // no comment"', '😀 // no comment'],
      ['""', ''],
    ];
    for (const [text, value] of strings) {
      expect(shape(parseExpression(`a == ${text}`)), text).to.deep.equal(['==', 'a', { value }]);
    }
  });

  it('keeps every digit of a number', () => {
    const digits = '-12345678901234567890123456789.000000000000000000001';
    const parsed = parseExpression(`a == ${digits}`);
    expect(parsed.kind === 'compare' && parsed.right).to.deep.include({ kind: 'number', text: digits });
  });

  const refused: [string, number][] = [
    ['', 0],
    ['  ', 0],
    ['a ==', 4],
    ['a = 1', 2],
    ['a & b', 2],
    ['a == 1 b', 7],
    ['(a', 2],
    ['a)', 1],
    ['a == "x', 5],
    ["a == 'x\ny'", 5],
    ['a == "\\q"', 6],
    ['a == "\\ud83d\\ude00"', 6],
    ['a == "\\U00110000"', 6],
    ['a == "\ud83d"', 5],
    ['a == "\\x00"', 5],
    ['a == "\\u12"', 6],
    ['a < b < c', 6],
    ['a + 1 == 2', 2],
    ['a == 1 ? b : c', 7],
    ['a == 5u', 5],
    ['a == 0x1F', 5],
    ['a == 1.', 6],
    ['a == .5', 5],
    ['a == --1', 6],
    ['a == b"x"', 6],
    ['a[0] == 1', 1],
    ['{"a": 1}', 0],
    ['a in b', 5],
    ['a in [b]', 6],
    ['a in [[1]]', 6],
    ['in == 1', 0],
    ['record.in == 1', 7],
    ['a.matches("x")', 0],
    ['a.size() > 1', 0],
    ['a.b.exists(x, x > 1)', 0],
    ['matches(a, "x")', 0],
    ['has(1)', 4],
    ['has(a, b)', 5],
    ['has(null)', 4],
    ['now(1) > a', 4],
    ['timestamp(a) > b', 10],
    ['timestamp("2026-02-30T00:00:00Z") > b', 10],
    ['timestamp("yesterday") > b', 10],
    ['a.contains()', 11],
    ['a.contains("x", "y")', 14],
    ['"a".contains("b")', 3],
    ['(a == b) == c', 3],
    ['a // comment', 2],
    ['a == 1;', 6],
    ['a == `x`', 5],
    ['é == 1', 0],
    ['\u0000', 0],
  ];
  for (const [text, offset] of refused) {
    it(`refuses ${JSON.stringify(text)} at ${offset}`, () => {
      const problem = problemOf(text);
      expect(problem.offset, problem.message).to.equal(offset);
    });
  }
});

describe('Limits of expressions', () => {
  it('allow 4 KiB of UTF-8 and no byte more', () => {
    const padded = (bytes: number, text: string) => text + ' '.repeat(bytes - Buffer.byteLength(text));
    expect(parseExpression(padded(LIMITS.bytes, 'a == "é"')).kind).to.equal('compare');
    expect(problemOf(padded(LIMITS.bytes + 1, 'a == "é"')).message).to.include('4096 bytes');
    expect(problemOf(`a == "${'é'.repeat(2100)}"`).message).to.include('4096 bytes');
  });

  it('allow 200 nodes and not one more', () => {
    const names = (count: number) => Array.from({ length: count }, () => 'a').join('||');
    expect(parseExpression(names(199)).kind).to.equal('or');
    expect(problemOf(names(200)).message).to.include('200');
    expect(problemOf(`a in [${Array.from({ length: 200 }, () => '1').join(',')}]`).message).to.include('200');
  });

  it('allow 12 levels and not one more', () => {
    const nested = (open: string, depth: number, close: string) =>
      `${open.repeat(depth)}a${close.repeat(depth)}`;
    for (const [open, close] of [
      ['(', ')'],
      ['!', ''],
      ['!(', ')'],
    ] as const) {
      expect(parseExpression(nested(open, 12, close)), open).to.be.an('object');
      expect(problemOf(nested(open, 13, close)).message, open).to.include('12 levels');
    }
    expect(parseExpression(nested('(', 11, ')').replace('a', 'b in [1]')).kind).to.equal('in');
    expect(problemOf(nested('(', 12, ')').replace('a', 'b in [1]')).message).to.include('12 levels');
    expect(problemOf(nested('(', 12, ')').replace('a', 'has(a)')).message).to.include('12 levels');
  });

  it('bound the time for hostile texts', () => {
    const many = (text: string, bytes: number) => text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes);
    const parts = [
      '(',
      '!',
      '!(',
      '[',
      '"',
      "'",
      '\\',
      'a.',
      'a.a(',
      'has(',
      '-',
      '1',
      '1.',
      '&&',
      'a&&',
      ' ',
      'é',
      '\ud83d',
      '\u0000',
    ];
    const began = performance.now();
    for (const part of parts) {
      for (const bytes of [4096, 40_000, 4_000_000]) {
        for (const text of [many(part, bytes), `a == "${many(part, bytes)}"`, `a in [${many(part, bytes)}`]) {
          try {
            parseExpression(text);
          } catch (error) {
            expect(error).to.be.instanceOf(ExpressionError);
          }
        }
      }
    }
    expect(performance.now() - began).to.be.lessThan(60_000);
  });

  it('give an expression or an ExpressionError within the text, for any text', () => {
    const words = fc.constantFrom(
      'a',
      '==',
      '!',
      '(',
      ')',
      '"x"',
      '1',
      'in',
      '[',
      ']',
      ',',
      '&&',
      '||',
      'has',
      '.',
      '-',
      ' ',
      'now',
      '<',
    );
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.array(words, { maxLength: 30 }).map((each) => each.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          parseExpression(text);
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
          expect(error.offset).to.be.within(0, text.length);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
