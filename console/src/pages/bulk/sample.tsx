import { Link } from 'wouter';
import { Card } from '../../kit/index.ts';
import { type Session, valueText } from './session-text.tsx';

/** The first records that change, before and after. */
export const Sample = ({ session }: { session: Session }) => {
  const { preview, entity_name, operation } = session;
  const { sample_affected: rows } = preview;
  if (rows.length === 0) return null;
  const isDeletion = operation === 'delete';
  return (
    <Card
      flush
      title={
        preview.would_succeed > rows.length
          ? `The first ${rows.length} of ${preview.would_succeed.toLocaleString()} that change`
          : 'What changes'
      }
    >
      <section className="scroll-x" id="sample" aria-label="What changes" tabIndex={0}>
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Record</th>
              <th scope="col">Field</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          {rows.map(({ record_id, before, after }) => {
            const keys = [...new Set([...Object.keys(before), ...Object.keys(after ?? {})])];
            return (
              <tbody key={record_id}>
                {keys.map((key, at) => (
                  <tr key={key}>
                    {at === 0 ? (
                      <th scope="rowgroup" rowSpan={keys.length}>
                        <Link href={`/records/${entity_name}/${record_id}`}>{record_id.slice(0, 8)}…</Link>
                      </th>
                    ) : null}
                    <td>
                      <code>{key}</code>
                    </td>
                    <td className="bulk-value">
                      <del>{valueText(before[key])}</del>
                    </td>
                    <td className="bulk-value">
                      {isDeletion || after === null ? (
                        <i className="muted">deleted</i>
                      ) : (
                        <ins>{valueText(after[key])}</ins>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            );
          })}
        </table>
      </section>
    </Card>
  );
};
