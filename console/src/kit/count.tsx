import { Link } from 'wouter';

interface CountProps {
  readonly of: number;
  /** Path of the page that the number comes from; undefined if there is no such page. */
  readonly to: string | undefined;
  /** Names the counted things for screen readers. */
  readonly label?: string;
}

/** A number that links to its source. */
export const Count = ({ of, to, label }: CountProps) => {
  const text = of.toLocaleString();
  if (to === undefined) return <span className="number">{text}</span>;
  return (
    <Link href={to} className="number" aria-label={label === undefined ? undefined : `${text}: ${label}`}>
      {text}
    </Link>
  );
};
