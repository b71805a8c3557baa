import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';

interface TabsProps {
  readonly label: string;
  /** The triggers of all tabs are rendered, but only the content of the shown tab. */
  readonly tabs: readonly { readonly key: string; readonly title: ReactNode; readonly content: ReactNode }[];
  readonly value?: string;
  readonly onChange?: (key: string) => void;
}

/** With `value` and `onChange` the caller controls which tab is shown, for example by the URL. */
export const Tabs = ({ label, tabs, value, onChange }: TabsProps) => {
  const chosen = value === undefined ? { defaultValue: tabs[0]?.key ?? '' } : { value };
  return (
    <Radix.Root {...chosen} {...(onChange === undefined ? {} : { onValueChange: onChange })}>
      <Radix.List className="tabs-list" aria-label={label}>
        {tabs.map(({ key, title }) => (
          <Radix.Trigger key={key} value={key}>
            {title}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ key, content }) => (
        <Radix.Content key={key} value={key}>
          {content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
};
