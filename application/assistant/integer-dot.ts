/**
 * Sums of products of small whole numbers, sixteen at a time: what the language itself does one by one. The program is
 * WebAssembly, written out by hand because it is this short; its memory is a scratch of sixteen pages, through
 * which blocks of rows are passed one after the other.
 */

/** What a row's length must be a multiple of. */
export const LANES = 16;

const PAGE = 65_536;

/**
 * `dot(query, row, end)`: of the 16-bit numbers from `query` and the 8-bit numbers from `row` up to `end`, addresses in
 * bytes. Locals: 0 to 2 the parameters, 3 and 4 four sums each, 5 sixteen numbers of the row.
 */
const PROGRAM = `
  00 61 73 6d 01 00 00 00           ; WebAssembly, version 1
  01 08 01 60 03 7f 7f 7f 01 7f     ; types: (i32, i32, i32) -> i32
  03 02 01 00                       ; functions: one, of that type
  05 03 01 00 10                    ; memory: sixteen pages
  07 10 02                          ; exports:
  03 64 6f 74 00 00                 ;   "dot", function 0
  06 6d 65 6d 6f 72 79 02 00        ;   "memory", memory 0
  0a 6c 01 6a                       ; code: one function
  01 03 7b                          ; locals 3, 4, 5: v128, all zeros
  03 40                             ; loop
  20 01 fd 00 00 00 21 05           ;   5 = sixteen of the row
  20 03                             ;   3
  20 00 fd 00 04 00                 ;   eight of the query
  20 05 fd 87 01                    ;   the first eight of 5, widened to 16 bits
  fd ba 01 fd ae 01 21 03           ;   i32x4.dot_i16x8_s, i32x4.add, to 3
  20 04                             ;   4
  20 00 fd 00 04 10                 ;   the next eight of the query
  20 05 fd 88 01                    ;   the last eight of 5, widened
  fd ba 01 fd ae 01 21 04           ;   i32x4.dot_i16x8_s, i32x4.add, to 4
  20 00 41 20 6a 21 00              ;   0 = 0 + 32
  20 01 41 10 6a 22 01              ;   1 = 1 + 16
  20 02 49 0d 00 0b                 ; again while 1 < 2
  20 03 20 04 fd ae 01 22 03        ; 3 = 3 + 4
  fd 1b 00 20 03 fd 1b 01 6a        ; the sum of its four
  20 03 fd 1b 02 6a 20 03 fd 1b 03 6a 0b
`;

const assembled = (program: string): Uint8Array =>
  Uint8Array.from(program.replace(/;.*$/gm, '').trim().split(/\s+/), (byte) => Number.parseInt(byte, 16));

interface Exports {
  readonly dot: (query: number, row: number, end: number) => number;
  readonly memory: { readonly buffer: ArrayBuffer };
}

/** As much of it as is used here; the types of Node have none of it. */
declare const WebAssembly: {
  readonly Module: new (program: Uint8Array) => object;
  /** Of the program above, and of no other. */
  readonly Instance: new (
    module: object,
  ) => { readonly exports: Exports };
};

const { dot, memory } = new WebAssembly.Instance(new WebAssembly.Module(assembled(PROGRAM))).exports;
const scratch = memory.buffer;

/** The largest number of a query with which no sum of a row of this length can overflow. */
export const largestOf = (length: number): number =>
  Math.min(32_767, Math.floor((2 ** 31 - 1) / (length * 128)));

/**
 * Of the query with each row.
 * @param query a multiple of {@link LANES} long; see {@link largestOf}
 * @param blocks rows one after the other, each as long as the query
 * @throws RangeError for a query longer than a page, or a block longer than fifteen
 */
export const dotsOf = (query: Int16Array, blocks: readonly Int8Array[]): Int32Array => {
  const { length } = query;
  if (length % LANES !== 0 || query.byteLength > PAGE) throw new RangeError('rows of another length');
  new Int16Array(scratch).set(query);
  const room = new Int8Array(scratch, PAGE);
  const dots = new Int32Array(blocks.reduce((sum, block) => sum + block.length / length, 0));
  let row = 0;
  for (const block of blocks) {
    room.set(block);
    const end = PAGE + block.length;
    for (let at = PAGE; at < end; at += length, row += 1) dots[row] = dot(0, at, at + length);
  }
  return dots;
};
