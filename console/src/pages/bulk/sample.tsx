import { Link } from 'wouter';
import { Card, Figures } from '../../kit/index.ts';
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
      <Figures label="What changes" id="sample" columns={['Record', 'Field', 'Before', 'After']}>
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
      </Figures>
    </Card>
  );
};
