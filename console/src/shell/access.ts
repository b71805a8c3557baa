import { PAGES, type PageEntry, type PageFor } from '../pages/index.ts';
import type { NavGroup } from '../pages/navigation.ts';
import { NAVIGATION } from '../pages/navigation.ts';
import type { Session, Sessions } from '../session/store.ts';

/** The session for a page's audience; undefined if there is no such session. */
export const sessionFor = (isFor: PageFor, { tenant, platform, partner }: Sessions): Session | undefined => {
  switch (isFor) {
    case 'person':
      return tenant;
    case 'admin':
      return tenant?.role === 'admin' ? tenant : undefined;
    case 'platform':
      return platform;
    case 'partner':
      return partner;
    default:
      return isFor satisfies never;
  }
};

/** The sidebar of the current sessions: existing pages that one of the sessions may open. */
export const navigationOf = (sessions: Sessions): readonly NavGroup[] =>
  NAVIGATION.map(({ title, entries }) => ({
    title,
    entries: entries.filter(({ path }) => {
      const page = PAGES.find((one) => one.path === path);
      return page !== undefined && sessionFor(page.for, sessions) !== undefined;
    }),
  })).filter(({ entries }) => entries.length > 0);

/** The path of the first page after a sign-in. */
export const homeOf = (sessions: Sessions): string | undefined => navigationOf(sessions)[0]?.entries[0]?.path;

const parameters = ({ path }: PageEntry): number => path.split(':').length;

/** Pages with fewer parameters come first, since `/bulk/:id` also matches `/bulk/new`. */
const BY_PARAMETERS = [...PAGES].sort((a, b) => parameters(a) - parameters(b));

export const pagesOf = (sessions: Sessions): readonly (readonly [PageEntry, Session])[] =>
  BY_PARAMETERS.flatMap((page) => {
    const session = sessionFor(page.for, sessions);
    return session === undefined ? [] : [[page, session] as const];
  });
