import { PAGES } from '../index.ts';

/** The path if its page exists; otherwise the figure has no link. */
export const pathIfThere = (path: string): string | undefined =>
  PAGES.some((page) => page.path === path) ? path : undefined;
