import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { problemText } from './problem.tsx';

export interface CardProps {
  readonly title?: string | undefined;
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
  /** Undefined while it is loading. */
  readonly value: ReactNode;
  readonly detail?: ReactNode;
  /** Error of a failed read. */
  readonly error?: Error | null;
  /** Path of the page that the figure comes from; `#<id>` is a part of the current page. */
  readonly to?: string | undefined;
}

/** A figure that links to its source. */
export const Tile = ({ label, value, detail, error = null, to }: TileProps) => {
  const about = error === null ? detail : problemText(error);
  const content = (
    <>
      <span className="small muted">{label}</span>
      <span className="tile-value">{error === null ? (value ?? <span className="skeleton" />) : '–'}</span>
      {about === undefined ? null : <span className="small muted">{about}</span>}
    </>
  );
  if (to === undefined) return <div className="card tile">{content}</div>;
  // The browser itself scrolls to a part of the page.
  return to.startsWith('#') ? (
    <a href={to} className="card tile">
      {content}
    </a>
  ) : (
    <Link href={to} className="card tile">
      {content}
    </Link>
  );
};
