import { CircleUser, LogOut, Monitor, Moon, Sun } from 'lucide-react';
import { Button } from '../kit/button.tsx';
import { Menu, MenuItem, MenuLabel } from '../kit/menu.tsx';
import { type Sessions, signOut } from '../session/store.ts';
import { setTheme, type Theme, useTheme } from './theme.ts';

const THEMES: readonly (readonly [Theme, string, typeof Sun])[] = [
  ['light', 'Light', Sun],
  ['dark', 'Dark', Moon],
  ['system', 'As the system', Monitor],
];

/** Menu with the signed-in person, the theme and the sign-out. */
export const Account = ({ sessions: { tenant, platform, partner } }: { sessions: Sessions }) => {
  const theme = useTheme();
  const session = tenant?.impersonatedBy === undefined ? (tenant ?? platform ?? partner) : platform;
  const email = session?.email ?? '';
  return (
    <Menu
      trigger={
        <Button tone="ghost" aria-label={`Account: ${email}`}>
          <CircleUser size={17} aria-hidden />
          <span className="wide truncate">{email}</span>
        </Button>
      }
    >
      <MenuLabel>
        {email}
        {tenant === undefined ? '' : ` · ${tenant.tenantId} · ${tenant.role}`}
        {platform === undefined ? '' : ' · platform admin'}
      </MenuLabel>
      {THEMES.map(([key, title, Icon]) => (
        <MenuItem key={key} onSelect={() => setTheme(key)}>
          <Icon size={15} aria-hidden />
          {title}
          {theme === key ? ' (chosen)' : ''}
        </MenuItem>
      ))}
      <MenuItem onSelect={() => signOut()}>
        <LogOut size={15} aria-hidden />
        Sign out
      </MenuItem>
    </Menu>
  );
};
