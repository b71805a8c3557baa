import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';

interface PageProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  /** The pages above this one. */
  readonly crumbs?: readonly (readonly [path: string, title: string])[];
  readonly children: ReactNode;
}

/** A page with its heading, which gets the focus when the page is opened. */
export const Page = ({ title, about, actions, crumbs = [], children }: PageProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Console`;
  }, [title]);
  useEffect(() => {
    const { activeElement: active } = document;
    // A field or menu that the user has focused meanwhile keeps the focus.
    if (active === null || active === document.body || active.closest('nav, main') !== null) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return (
    <>
      <div className="page-header">
        <div>
          {crumbs.length === 0 ? null : (
            <nav className="crumbs small muted" aria-label="Breadcrumb">
              {crumbs.map(([path, name]) => (
                <span key={path}>
                  <Link href={path}>{name}</Link> /{' '}
                </span>
              ))}
            </nav>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {about === undefined ? null : <p>{about}</p>}
        </div>
        {actions === undefined ? null : <div className="row">{actions}</div>}
      </div>
      <div className="stack">{children}</div>
    </>
  );
};
