import { useEffect, useEffectEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../kit/dialog.tsx';
import type { NavGroup } from '../pages/navigation.ts';

/** Time (ms) within which the second key must follow `g`. */
const SEQUENCE_MS = 1500;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.closest('input, textarea, select, [contenteditable], dialog') !== null;

/** `?` for help, `/` for the search field of the page, `g` and a letter for a page. */
export const Shortcuts = ({ groups }: { groups: readonly NavGroup[] }) => {
  const [isOpen, setOpen] = useState(false);
  const [, navigate] = useLocation();
  const entries = groups.flatMap((group) => group.entries);
  const go = useEffectEvent((key: string): boolean => {
    const found = entries.find((entry) => entry.key === key);
    if (found !== undefined) navigate(found.path);
    return found !== undefined;
  });
  useEffect(() => {
    let begun = Number.NEGATIVE_INFINITY;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const isSecond = event.timeStamp - begun < SEQUENCE_MS;
      begun = Number.NEGATIVE_INFINITY;
      if (isSecond) {
        if (go(event.key)) event.preventDefault();
      } else if (event.key === 'g') begun = event.timeStamp;
      else if (event.key === '?') setOpen(true);
      else if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('main search :is(input, select)');
        if (search === null) return;
        event.preventDefault();
        search.focus();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (!isOpen) return null;
  const keys: readonly (readonly [string, string])[] = [
    ['?', 'This list'],
    ['/', 'Search on the page'],
    ['Esc', 'Close a dialogue or a menu'],
    ['↑ ↓ Home End', 'Move through the rows of a table'],
    ['Enter', 'Open the row'],
    ...entries.map(({ key, title }) => [`g ${key}`, title] as const),
  ];
  return (
    <Dialog title="Keyboard" onClose={() => setOpen(false)}>
      <dl className="facts">
        {keys.map(([key, what]) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt>
              {key.split(' ').map((each) => (
                <span key={each}>
                  <kbd>{each}</kbd>{' '}
                </span>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
};
