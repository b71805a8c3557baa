import { useSyncExternalStore } from 'react';

/** `system` follows `prefers-color-scheme`. */
export type Theme = 'light' | 'dark' | 'system';

const KEY = 'console-theme';
const listeners = new Set<() => void>();

const stored = (): Theme => {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
};

const apply = (theme: Theme): void => {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};

const dark = matchMedia('(prefers-color-scheme: dark)');

export const startTheme = (): void => apply(stored());

export const setTheme = (theme: Theme): void => {
  localStorage.setItem(KEY, theme);
  apply(theme);
  for (const listener of listeners) listener();
};

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  dark.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    dark.removeEventListener('change', listener);
  };
};

export const useTheme = (): Theme => useSyncExternalStore(subscribe, stored);

/** Whether the page is dark now. */
export const useIsDark = (): boolean =>
  useSyncExternalStore(subscribe, () => (stored() === 'system' ? dark.matches : stored() === 'dark'));
