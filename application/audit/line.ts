import type { OpenedEvent, View } from './opened-views.ts';

/** One line of an export (docs/audit-format.md), members in this order; a view is the stored text where possible. */
export const exportLine = ({ stored, data, metadata, asStored }: OpenedEvent): string => {
  const { position, stream, revision, id, type } = stored;
  const view = asStored ? viewText(data, stored.data) : JSON.stringify(data);
  return (
    `${JSON.stringify({ position, stream, revision, id, type }).slice(0, -1)},"data":${view},` +
    `"metadata":${viewText(metadata, stored.metadata)},` +
    `"sealed":${JSON.stringify({ data: stored.data, metadata: stored.metadata })}}\n`
  );
};

/** A tampered text may be no JSON, or contain a line feed, which would end the line. */
const viewText = (view: View, stored: string): string =>
  view === null || stored.includes('\n') ? JSON.stringify(view) : stored;
