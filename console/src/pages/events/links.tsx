import { PageLinks } from '../../kit/index.ts';

const PAGES = [
  ['/events', 'Events'],
  ['/event-log', 'Who did what'],
  ['/time-travel', 'Time travel'],
  ['/events/verification', 'Verification'],
] as const;

/** Links between the pages on the log. */
export const EventLinks = () => <PageLinks label="Events" pages={PAGES} />;
