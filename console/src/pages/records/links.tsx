import { Link } from 'wouter';

/** The pages on records beside each other. */
export const RecordLinks = ({ at }: { at: string }) => (
  <nav className="page-links" aria-label="Records">
    {(
      [
        ['/records', 'Records'],
        ['/workflows', 'Workflows'],
        ['/forms', 'Forms'],
      ] as const
    ).map(([path, title]) => (
      <Link key={path} href={path} aria-current={path === at ? 'page' : undefined}>
        {title}
      </Link>
    ))}
  </nav>
);
