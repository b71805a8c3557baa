import { Link } from 'wouter';
import { Json, Time, useNames, useRead } from '../../kit/index.ts';
import { type EntityField, recordPath, titleOf, useEntity } from './schema.ts';

interface ValueProps {
  readonly field: EntityField;
  readonly value: unknown;
}

const decimal = /^(-?)(\d+)(\.\d+)?$/;

/** Formats a number with thousands separators, and keeps every stored digit. */
const numberText = (value: unknown): string => {
  const text = String(value);
  const [, sign = '', whole = '', part = ''] = decimal.exec(text) ?? [];
  return whole === '' ? text : `${sign}${BigInt(whole).toLocaleString()}${part}`;
};

/** A value in a cell. */
export const CellValue = ({ field, value }: ValueProps) => {
  const nameOf = useNames();
  if (value === undefined || value === null) return null;
  switch (field.type) {
    case 'text':
    case 'long_text':
    case 'enum':
    case 'date':
      return <>{String(value)}</>;
    case 'integer':
    case 'decimal':
      return <>{numberText(value)}</>;
    case 'boolean':
      return <>{value === true ? 'Yes' : 'No'}</>;
    case 'datetime':
      return <Time at={String(value)} />;
    case 'user':
      return <>{nameOf(String(value))}</>;
    case 'reference':
      return (
        <Link href={recordPath(field.reference?.entity_name ?? '', String(value))}>
          <code>…{String(value).slice(-8)}</code>
        </Link>
      );
    case 'json':
      return <code>{JSON.stringify(value)}</code>;
    default:
      return field.type satisfies never;
  }
};

/** A value on the page of its record. */
export const FullValue = ({ field, value }: ValueProps) => {
  if (value === undefined || value === null) return <span className="muted">–</span>;
  if (field.type === 'json') return <Json value={value} open={2} />;
  if (field.type === 'long_text') return <span className="record-text">{String(value)}</span>;
  if (field.type === 'reference' && field.reference !== undefined)
    return <Reference entity={field.reference.entity_name} id={String(value)} />;
  return <CellValue field={field} value={value} />;
};

export const Reference = ({ entity, id }: { entity: string; id: string }) => {
  const schema = useEntity(entity);
  const record = useRead(['record', entity, id], (client, signal) =>
    client.get('/api/v1/tenant/entities/{name}/records/{id}', {
      params: { path: { name: entity, id } },
      signal,
    }),
  );
  const isKnown = schema.data !== undefined && record.data !== undefined;
  return <Link href={recordPath(entity, id)}>{isKnown ? titleOf(schema.data.fields, record.data) : id}</Link>;
};
