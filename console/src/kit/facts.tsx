import { Fragment, type ReactNode } from 'react';

/** Names and values; values that are undefined are left out. */
export const Facts = ({ of }: { of: Readonly<Record<string, ReactNode>> }) => (
  <dl className="facts">
    {Object.entries(of)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
  </dl>
);
