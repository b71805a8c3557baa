import type { ReactNode } from 'react';
import { ApiError, isRecord } from '../../../client/src/errors.ts';

/** Messages of refused fields by path: from `details.issues`, or from `details.field` if there are no issues. */
export const issuesOf = (error: unknown): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  if (!(error instanceof ApiError)) return found;
  const { issues, field } = error.details;
  for (const issue of Array.isArray(issues) ? issues : []) {
    if (!isRecord(issue) || typeof issue.path !== 'string' || found.has(issue.path)) continue;
    found.set(issue.path, typeof issue.message === 'string' ? issue.message : 'This is not allowed.');
  }
  if (found.size === 0 && typeof field === 'string') found.set(field, error.message);
  return found;
};

/** An error as one sentence. */
export const problemText = (error: unknown): string => {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError) return 'The server cannot be reached.';
  return error instanceof Error ? error.message : String(error);
};

/** An error with its code, and the request id to quote to the server's operator. */
export const Problem = ({ error, children }: { error: unknown; children?: ReactNode }) => {
  const issues = [...issuesOf(error)].filter(
    ([path, message]) => path !== '' && message !== problemText(error),
  );
  return (
    <div className="problem" role="alert">
      <strong>{problemText(error)}</strong>
      {issues.length === 0 ? null : (
        <ul className="small">
          {issues.map(([path, message]) => (
            <li key={path}>
              <code>{path}</code>: {message}
            </li>
          ))}
        </ul>
      )}
      {error instanceof ApiError ? (
        <span className="small">
          {error.code === '' ? `HTTP ${error.status}` : <code>{error.code}</code>}
          {error.requestId === undefined ? null : (
            <>
              {' '}
              · request <code>{error.requestId}</code>
            </>
          )}
        </span>
      ) : null}
      {children === undefined ? null : <div className="row">{children}</div>}
    </div>
  );
};
