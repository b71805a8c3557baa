/** Formats a lag: 0.004 → "4 ms", 12.3 → "12.3 s", 4000 → "67 min". */
export const secondsText = (seconds: number | undefined): string => {
  if (seconds === undefined) return '–';
  if (seconds === 0) return '0 s';
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 120) return `${Math.round(seconds * 10) / 10} s`;
  return `${Math.round(seconds / 60).toLocaleString()} min`;
};
