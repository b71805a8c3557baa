import { Link } from 'wouter';

/** The pages on the log beside each other. */
export const EventLinks = ({ at }: { at: string }) => (
  <nav className="page-links" aria-label="Events">
    {(
      [
        ['/events', 'Events'],
        ['/event-log', 'Who did what'],
        ['/time-travel', 'Time travel'],
        ['/events/verification', 'Verification'],
      ] as const
    ).map(([path, title]) => (
      <Link key={path} href={path} aria-current={path === at ? 'page' : undefined}>
        {title}
      </Link>
    ))}
  </nav>
);
