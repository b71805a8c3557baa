import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';

interface MenuProps {
  /** The button that opens the menu. */
  readonly trigger: ReactNode;
  readonly children: ReactNode;
}

/**
 * A menu under a button. It is not modal, since a modal menu writes a style element, which the content security
 * policy refuses.
 */
export const Menu = ({ trigger, children }: MenuProps) => (
  <DropdownMenu.Root modal={false}>
    <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
    <DropdownMenu.Portal>
      <DropdownMenu.Content className="menu" align="end" sideOffset={6} collisionPadding={12}>
        {children}
      </DropdownMenu.Content>
    </DropdownMenu.Portal>
  </DropdownMenu.Root>
);

/** The menu at the end of a row. */
export const ActionsMenu = ({ name, children }: { name: string; children: ReactNode }) => (
  <Menu
    trigger={
      <Button size="small" aria-label={`Actions for ${name}`}>
        Actions
      </Button>
    }
  >
    {children}
  </Menu>
);

export interface MenuItemProps {
  readonly onSelect: () => void;
  readonly tone?: 'plain' | 'danger';
  readonly children: ReactNode;
}

export const MenuItem = ({ onSelect, tone = 'plain', children }: MenuItemProps) => (
  <DropdownMenu.Item className={`menu-item ${tone}`} onSelect={onSelect}>
    {children}
  </DropdownMenu.Item>
);

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <DropdownMenu.Label className="menu-label">{children}</DropdownMenu.Label>
);
