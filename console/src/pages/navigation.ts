import {
  Activity,
  BookOpen,
  Bot,
  Boxes,
  Building2,
  Gauge,
  Handshake,
  History,
  KeyRound,
  LayoutDashboard,
  ListChecks,
  type LucideIcon,
  MessagesSquare,
  Puzzle,
  Receipt,
  ScrollText,
  Table2,
  Users,
  Webhook,
} from 'lucide-react';

/** A link of the sidebar, shown to the audience of its page if that page is in `PAGES`. */
export interface NavEntry {
  readonly path: string;
  readonly title: string;
  readonly icon: LucideIcon;
  /** The second key of the shortcut, after `g`. */
  readonly key: string;
}

export interface NavGroup {
  readonly title: string;
  readonly entries: readonly NavEntry[];
}

const entry = (path: string, title: string, icon: LucideIcon, key: string): NavEntry => ({
  path,
  title,
  icon,
  key,
});

export const NAVIGATION: readonly NavGroup[] = [
  {
    title: 'Observe',
    entries: [
      entry('/overview', 'Overview', LayoutDashboard, 'o'),
      entry('/events', 'Events', Activity, 'e'),
      entry('/event-log', 'Activity log', ScrollText, 'l'),
      entry('/time-travel', 'Time travel', History, 'h'),
    ],
  },
  {
    title: 'Work',
    entries: [
      entry('/records', 'Records', Table2, 'r'),
      entry('/bulk', 'Bulk operations', ListChecks, 'b'),
      entry('/messages', 'Messages', MessagesSquare, 'm'),
      entry('/assistant', 'Assistant', Bot, 'a'),
    ],
  },
  { title: 'Integrate', entries: [entry('/webhooks', 'Webhooks', Webhook, 'w')] },
  {
    title: 'Money',
    entries: [entry('/ledger', 'Ledger', BookOpen, 'j'), entry('/billing', 'Partner billing', Receipt, 'i')],
  },
  {
    title: 'Administration',
    entries: [
      entry('/users', 'Users', Users, 'u'),
      entry('/api-tokens', 'API tokens', KeyRound, 'k'),
      entry('/extensions', 'Extensions', Puzzle, 'x'),
    ],
  },
  {
    title: 'Platform',
    entries: [
      entry('/platform/overview', 'Platform overview', Gauge, 'd'),
      entry('/platform/tenants', 'Tenants', Building2, 't'),
      entry('/platform/partners', 'Partners', Handshake, 'n'),
      entry('/platform/projections', 'Projections', Boxes, 'p'),
    ],
  },
];
