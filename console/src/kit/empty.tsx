import type { ReactNode } from 'react';

/** Placeholder of an empty list: describes its entries and how to create the first one. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <strong>{title}</strong>
    {children}
  </div>
);
