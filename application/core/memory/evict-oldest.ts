/** Deletes the oldest entry of a map that has more than `maxCount`. */
export const evictOldest = (map: Map<string, unknown>, maxCount: number): void => {
  const { value: oldest } = map.keys().next();
  if (map.size > maxCount && oldest !== undefined) map.delete(oldest);
};
