/** `n / d` rounded half to even. @param d above 0 */
export const halfEven = (n: bigint, d: bigint): bigint => {
  const floor = n / d - (n % d < 0n ? 1n : 0n);
  const rest = 2n * (n - floor * d);
  if (rest !== d) return rest > d ? floor + 1n : floor;
  return floor % 2n === 0n ? floor : floor + 1n;
};
