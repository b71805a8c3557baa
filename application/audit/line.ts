import type { OpenedEvent, View } from './opened-views.ts';

/** One line of an export (docs/audit-format.md), members in this order; a view is the stored text where possible. */
export const exportLine = ({ stored, data, metadata, asStored }: OpenedEvent): string => {
  const { position, stream, revision, id, type } = stored;
  return (
    `{"position":"${position}","stream":${JSON.stringify(stream)},"revision":${revision},` +
    `"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},` +
    `"data":${asStored ? viewText(data, stored.data) : JSON.stringify(data)},` +
    `"metadata":${viewText(metadata, stored.metadata)},` +
    `"sealed":{"data":${JSON.stringify(stored.data)},"metadata":${JSON.stringify(stored.metadata)}}}\n`
  );
};

/** A tampered text may be no JSON, or contain a line feed, which would end the line. */
const viewText = (view: View, stored: string): string =>
  view === null || stored.includes('\n') ? JSON.stringify(view) : stored;
