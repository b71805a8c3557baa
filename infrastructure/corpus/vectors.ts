/** Encodes the vectors of a source: concatenated, little-endian float32. */

/** Undefined for a source without vectors. @throws TypeError when only some chunks have one */
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

/** @param count number of vectors */
export const fromBytes = (bytes: Uint8Array, count: number): readonly Float32Array[] => {
  // Copies explicitly: `slice` of a Buffer shares memory, and drivers return views of larger buffers.
  const all = new Float32Array(new Uint8Array(bytes).buffer);
  const dimensions = all.length / count;
  return Array.from({ length: count }, (_, index) =>
    all.subarray(index * dimensions, (index + 1) * dimensions),
  );
};
