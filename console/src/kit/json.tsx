/** Renders a JSON value as a collapsible tree. */
export const Json = ({ value, open = 2 }: { value: unknown; open?: number }) => (
  // Long texts scroll, also by keyboard.
  <div className="json" tabIndex={0} role="group" aria-label="Data">
    <Node value={value} open={open} />
  </div>
);

const Node = ({ value, open }: { value: unknown; open: number }) => {
  if (typeof value === 'string') return <span className="json-text">{JSON.stringify(value)}</span>;
  if (typeof value !== 'object' || value === null) return <span className="json-value">{String(value)}</span>;
  const entries = Object.entries(value);
  const [first, last] = Array.isArray(value) ? '[]' : '{}';
  if (entries.length === 0) return <span>{`${first}${last}`}</span>;
  return (
    <details open={open > 0}>
      <summary>
        {first} <span className="muted">{entries.length}</span> {last}
      </summary>
      <ul>
        {entries.map(([key, each]) => (
          <li key={key}>
            <span className="json-key">{key}</span>: <Node value={each} open={open - 1} />
          </li>
        ))}
      </ul>
    </details>
  );
};
