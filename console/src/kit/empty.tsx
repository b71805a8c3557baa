import type { ReactNode } from 'react';

/** A list without entries: what it would hold, and how to make the first one. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <strong>{title}</strong>
    {children}
  </div>
);
