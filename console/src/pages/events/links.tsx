import { PageLinks } from '../../kit/index.ts';

const PAGES = [
  ['/events', 'Events'],
  ['/event-log', 'Who did what'],
  ['/time-travel', 'Time travel'],
  ['/events/verification', 'Verification'],
] as const;

/** The pages on the log beside each other. */
export const EventLinks = ({ at }: { at: string }) => <PageLinks label="Events" at={at} pages={PAGES} />;
