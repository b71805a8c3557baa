/**
 * Concatenates the vectors of texts, normalised to length 1.
 * @throws TypeError for a wrong number of dimensions, values that are no numbers, or length zero
 */
export const packed = (
  vectors: readonly (readonly number[])[],
  dimensions: number,
): Float32Array<ArrayBuffer> => {
  const all = new Float32Array(vectors.length * dimensions);
  for (const [index, vector] of vectors.entries()) {
    if (vector.length !== dimensions) throw new TypeError('a vector has another number of dimensions');
    const length = Math.hypot(...vector);
    if (!Number.isFinite(length) || length < 1e-6) throw new TypeError('a vector has no length');
    for (const [place, value] of vector.entries()) all[index * dimensions + place] = value / length;
  }
  return all;
};

/** Splits the result of {@link packed}; each vector is a copy. */
export const unpacked = (all: Float32Array, dimensions: number): readonly Float32Array[] => {
  const vectors: Float32Array[] = [];
  for (let at = 0; at + dimensions <= all.length; at += dimensions)
    vectors.push(all.slice(at, at + dimensions));
  return vectors;
};
