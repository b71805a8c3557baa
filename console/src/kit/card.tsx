import type { ReactNode } from 'react';
import { Link } from 'wouter';

interface CardProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  /** `flush`: the content reaches the border, for tables. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}

export const Card = ({ title, actions, flush = false, children }: CardProps) => (
  <section className={flush ? 'card card-flush' : 'card'}>
    {title === undefined ? null : (
      <div className="card-header">
        <h2>{title}</h2>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </div>
    )}
    {flush ? children : <div className="card-body">{children}</div>}
  </section>
);

interface TileProps {
  readonly label: string;
  /** Undefined while it is read. */
  readonly value: ReactNode;
  readonly detail?: ReactNode;
  /** The page that the figure comes from. */
  readonly to?: string | undefined;
}

/** A figure that leads to its source. */
export const Tile = ({ label, value, detail, to }: TileProps) => {
  const content = (
    <>
      <span className="tile-label">{label}</span>
      <span className="tile-value">{value ?? <span className="skeleton" />}</span>
      {detail === undefined ? null : <span className="small muted">{detail}</span>}
    </>
  );
  return to === undefined ? (
    <div className="card tile">{content}</div>
  ) : (
    <Link href={to} className="card tile">
      {content}
    </Link>
  );
};
