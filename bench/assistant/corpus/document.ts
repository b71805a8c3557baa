/** A source of the labelled set, as the indexer would see it, with the questions that it answers. */
export interface LabelledDocument {
  readonly id: string;
  readonly kind: 'entity_record' | 'attachment';
  readonly title: string;
  /** A record as `label: value` lines, an attachment as its text. */
  readonly text: string;
  readonly questions: readonly string[];
}

/** One imagined company: what it keeps, and what nobody could answer from it. */
export interface Business {
  readonly name: string;
  readonly documents: readonly LabelledDocument[];
  readonly unanswerable: readonly string[];
}

export const record = (
  id: string,
  title: string,
  values: Readonly<Record<string, string | number>>,
  ...questions: readonly string[]
): LabelledDocument => ({
  id,
  kind: 'entity_record',
  title,
  text: Object.entries(values)
    .map(([label, value]) => `${label}: ${value}`)
    .join('\n'),
  questions,
});

export const document = (
  id: string,
  title: string,
  text: string,
  ...questions: readonly string[]
): LabelledDocument => ({ id, kind: 'attachment', title, text, questions });
