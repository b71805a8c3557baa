import { Figures } from '../../kit/index.ts';
import { type Difference, differences } from './difference.ts';

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, undefined, 1);

/** The differences between two states, one line for each path. */
export const Differences = ({ before, after }: { before: unknown; after: unknown }) => {
  const found = differences(before, after);
  if (found.length === 0) return <p className="muted">Nothing is different.</p>;
  return (
    <Figures label="Differences" columns={['Where', 'Before', 'After']}>
      <tbody>
        {found.map((each) => (
          <Row key={each.path} of={each} />
        ))}
      </tbody>
    </Figures>
  );
};

const Row = ({ of: { path, before, after } }: { of: Difference }) => (
  <tr>
    <th scope="row">
      <code>{path === '' ? 'all' : path}</code>
    </th>
    <td className="event-text">
      {before === undefined ? <i className="muted">nothing</i> : <del>{textOf(before)}</del>}
    </td>
    <td className="event-text">
      {after === undefined ? <i className="muted">nothing</i> : <ins>{textOf(after)}</ins>}
    </td>
  </tr>
);
