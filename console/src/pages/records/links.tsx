import { PageLinks } from '../../kit/index.ts';

const PAGES = [
  ['/records', 'Records'],
  ['/workflows', 'Workflows'],
  ['/forms', 'Forms'],
] as const;

/** Links between the pages on records. */
export const RecordLinks = () => <PageLinks label="Records" pages={PAGES} />;
