import { PageLinks } from '../../kit/index.ts';

const PAGES = [
  ['/records', 'Records'],
  ['/workflows', 'Workflows'],
  ['/forms', 'Forms'],
] as const;

/** The pages on records beside each other. */
export const RecordLinks = ({ at }: { at: string }) => <PageLinks label="Records" at={at} pages={PAGES} />;
