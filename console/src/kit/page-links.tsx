import { useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';

interface PageLinksProps {
  readonly label: string;
  readonly pages: readonly (readonly [path: string, title: string])[];
}

/** Tabs that link to the pages of an area; the tab of the current page is scrolled into view. */
export const PageLinks = ({ label, pages }: PageLinksProps) => {
  const [at] = useLocation();
  const present = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    present.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, []);
  return (
    <nav className="page-links" aria-label={label}>
      {pages.map(([path, title]) => {
        const isPresent = path.split('?')[0] === at;
        return (
          <Link
            key={title}
            href={path}
            ref={isPresent ? present : undefined}
            aria-current={isPresent ? 'page' : undefined}
          >
            {title}
          </Link>
        );
      })}
    </nav>
  );
};
