import { type Difference, differences } from './difference.ts';

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, undefined, 1);

/** The differences between two states, one line for each path. */
export const Differences = ({ before, after }: { before: unknown; after: unknown }) => {
  const found = differences(before, after);
  if (found.length === 0) return <p className="muted">Nothing is different.</p>;
  return (
    <section className="scroll-x" aria-label="Differences" tabIndex={0}>
      <table className="figures">
        <thead>
          <tr>
            <th scope="col">Where</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {found.map((each) => (
            <Row key={each.path} of={each} />
          ))}
        </tbody>
      </table>
    </section>
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
