/**
 * Vectors of texts, normalised to length 1.
 * @throws TypeError for a wrong number of dimensions, values that are not numbers, or length zero
 */
export const normalised = (
  vectors: readonly (readonly number[])[],
  dimensions: number,
): Float32Array<ArrayBuffer>[] =>
  vectors.map((vector) => {
    if (vector.length !== dimensions) throw new TypeError('a vector has another number of dimensions');
    const length = Math.hypot(...vector);
    if (!Number.isFinite(length) || length < 1e-6) throw new TypeError('a vector has no length');
    return Float32Array.from(vector, (value) => value / length);
  });
