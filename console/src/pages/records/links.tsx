import { PageLinks } from '../../kit/index.ts';

const PAGES = [
  ['/records', 'Records'],
  ['/workflows', 'Workflows'],
  ['/forms', 'Forms'],
] as const;

/** Links between the pages on records. */
export const RecordLinks = ({ at }: { at: string }) => <PageLinks label="Records" at={at} pages={PAGES} />;
