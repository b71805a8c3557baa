/** A source of the labelled set, in the form that the indexer reads, with the questions that it answers. */
export interface LabelledDocument {
  readonly id: string;
  readonly kind: 'entity_record' | 'attachment';
  readonly title: string;
  /** Lines `label: value` for a record, the text for an attachment. */
  readonly text: string;
  readonly questions: readonly string[];
}

/** An invented company: its sources, and questions that none of these sources answers. */
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
