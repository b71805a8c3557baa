import type { Rate } from './rate.ts';

interface RateBarsProps {
  /** Text alternative for screen readers: one sentence. */
  readonly label: string;
  readonly rate: Rate;
}

const HEIGHT = 100;
/** Width of a bar as a share of one second. */
const BAR = 0.7;

const time = (seconds: number | undefined): string =>
  seconds === undefined ? '' : new Date(1000 * seconds).toTimeString().slice(0, 8);

/**
 * Bars of counts per second. The bars are one SVG path, so that the overview need not wait for the library that draws
 * the charts of other pages.
 */
export const RateBars = ({ label, rate: { seconds, counts } }: RateBarsProps) => {
  const most = Math.max(1, ...counts);
  const bars = counts.map((count, nth) => {
    const height = (HEIGHT * count) / most;
    return count === 0 ? '' : `M${nth},${HEIGHT}v${-height}h${BAR}v${height}z`;
  });
  return (
    <div className="chart rate" role="img" aria-label={label}>
      <span className="rate-most">{most.toLocaleString()}</span>
      <svg viewBox={`0 0 ${counts.length} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path d={bars.join('')} />
      </svg>
      {[0, 1, 2]
        .map((third) => Math.floor((third * seconds.length) / 3))
        .map((nth) => (
          <span key={nth} className="rate-time">
            {time(seconds[nth])}
          </span>
        ))}
    </div>
  );
};
