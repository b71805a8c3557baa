/** Deletes the oldest entry of a map that has more than `maxCount`. */
export const evictOldest = (map: Map<string, unknown>, maxCount: number): void => {
  // The first key of a map with many deleted entries takes long to find.
  if (map.size <= maxCount) return;
  const { value: oldest } = map.keys().next();
  if (oldest !== undefined) map.delete(oldest);
};
