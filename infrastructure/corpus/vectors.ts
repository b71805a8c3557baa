/** How the vectors of a source are stored: one after the other, as little-endian float32. */

/** Undefined for a source without vectors. @throws TypeError for one that has some only */
export const toBytes = (vectors: readonly (Float32Array | undefined)[]): Uint8Array | undefined => {
  const [first] = vectors;
  if (first === undefined) return undefined;
  const all = new Float32Array(vectors.length * first.length);
  for (const [index, vector] of vectors.entries()) {
    if (vector?.length !== first.length) throw new TypeError('a source has vectors of one model or none');
    all.set(vector, index * first.length);
  }
  return new Uint8Array(all.buffer);
};

/** @param count of vectors */
export const fromBytes = (bytes: Uint8Array, count: number): readonly Float32Array[] => {
  // A copy, and not `slice`, which is none of a Buffer: what a driver hands out is a part of something larger.
  const all = new Float32Array(new Uint8Array(bytes).buffer);
  const dimensions = all.length / count;
  return Array.from({ length: count }, (_, index) =>
    all.subarray(index * dimensions, (index + 1) * dimensions),
  );
};
