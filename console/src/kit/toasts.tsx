import { X } from 'lucide-react';
import { useEffect, useSyncExternalStore } from 'react';
import { useLocation } from 'wouter';
import { IconButton } from './button.tsx';
import { createStore } from './store.ts';

interface Shown {
  readonly id: number;
  readonly text: string;
  readonly tone: 'ok' | 'danger';
}

/**
 * Time (ms) until the toast of a success closes. An error stays until the user closes it or leaves the page, or newer
 * toasts replace it.
 */
const OK_MS = 6000;
const MOST = 4;

const shown = createStore<readonly Shown[]>([]);
let last = 0;

const close = (id: number): void => shown.set(shown.get().filter((each) => each.id !== id));

/** Shows a result or an error at the edge of the page. */
export const toast = (text: string, tone: Shown['tone'] = 'ok'): void => {
  last += 1;
  const id = last;
  shown.set([...shown.get(), { id, text, tone }].slice(-MOST));
  if (tone === 'ok') setTimeout(() => close(id), OK_MS);
};

/** Errors of the last page would cover controls of the next one. */
const closeErrors = (): void => shown.set(shown.get().filter(({ tone }) => tone === 'ok'));

export const Toasts = () => {
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the path changes
  useEffect(() => closeErrors, [path]);
  const present = useSyncExternalStore(shown.subscribe, shown.get);
  return (
    <ul className="toasts" aria-live="polite" aria-label="Messages">
      {present.map(({ id, text, tone }) => (
        <li key={id} className="toast" data-tone={tone}>
          <span>{text}</span>
          <IconButton label="Close message" icon={<X size={15} aria-hidden />} onClick={() => close(id)} />
        </li>
      ))}
    </ul>
  );
};
