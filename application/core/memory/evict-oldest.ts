/** Deletes the oldest entry of a map that has more than `maxCount` entries. */
export const evictOldest = (map: Map<string, unknown>, maxCount: number): void => {
  // Checked first, since finding the first key of a map with many deleted entries takes long.
  if (map.size <= maxCount) return;
  const { value: oldest } = map.keys().next();
  if (oldest !== undefined) map.delete(oldest);
};
