import { Button } from './button.tsx';
import { Problem } from './problem.tsx';

/** An answer of `useRead` or `usePages`. */
export interface Answered {
  readonly error: Error | null;
  readonly refetch: () => unknown;
}

/** The error of a failed read with a retry button; nothing without an error. */
export const Failed = ({ of: { error, refetch } }: { of: Answered }) =>
  error === null ? null : (
    <Problem error={error}>
      <Button size="small" onClick={() => void refetch()}>
        Try again
      </Button>
    </Problem>
  );

interface PendingProps {
  /** The reads that are awaited; the first one that failed is shown. */
  readonly of: Answered | readonly Answered[];
  /** Names the data for screen readers: "the report". */
  readonly what: string;
}

/** Placeholder of data that is being read: a loading state, or the error with a retry button. */
export const Pending = ({ of, what }: PendingProps) => {
  const failed = [of].flat().find(({ error }) => error !== null);
  return failed === undefined ? (
    <div className="stack" role="status" aria-label={`Loading ${what}`}>
      <span className="skeleton" />
      <span className="skeleton" style={{ width: '70%' }} />
    </div>
  ) : (
    <Failed of={failed} />
  );
};
