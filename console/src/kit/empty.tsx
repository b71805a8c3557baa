import type { ReactNode } from 'react';

/** Placeholder of an empty list or a missing page: says what is missing, and in `children` what to do. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty">
    <strong>{title}</strong>
    {children}
  </div>
);
