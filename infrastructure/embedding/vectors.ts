/**
 * The vectors of texts one after the other, each of length 1.
 * @throws TypeError for what cannot be compared: another number of dimensions, no numbers, no length
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

/** Takes apart what {@link packed} put together; each vector is a copy of its own. */
export const unpacked = (all: Float32Array, dimensions: number): readonly Float32Array[] => {
  const vectors: Float32Array[] = [];
  for (let at = 0; at + dimensions <= all.length; at += dimensions)
    vectors.push(all.slice(at, at + dimensions));
  return vectors;
};
