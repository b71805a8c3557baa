import { PAGES } from '../index.ts';

/** A figure leads to its page once that page exists. */
export const pathIfThere = (path: string): string | undefined =>
  PAGES.some((page) => page.path === path) ? path : undefined;
