import type { FieldIssue } from '../../domain/core/errors.ts';
import { MAX_LONG_TEXT, MAX_TEXT } from '../../domain/entities/fields.ts';
import type { PublicField } from '../../domain/forms/fields.ts';
import { isTicked, type Texts } from '../../domain/forms/texts.ts';
import { attributes, type Html, html } from './html.ts';
import { page } from './page.ts';

/** A public form as a page that works without scripts (decisions, section 6, Form). */

/** Name of the hidden input; no field's key begins with an underscore. */
export const SUBMISSION_INPUT = '_submission_id';

export interface FormPage {
  readonly title: string;
  readonly fields: readonly PublicField[];
  readonly timeZone: string;
  /** Target of the form, relative to the page's address. */
  readonly action: string;
  readonly submissionId: string;
  /** Values entered before. */
  readonly texts?: Texts | undefined;
  /** Problems of the entered values; paths as in JSON answers. */
  readonly issues?: readonly FieldIssue[] | undefined;
}

const VALUES = 'values.';

const idOf = ({ key }: PublicField): string => `field-${key}`;

/** Messages for people who fill in a form. */
const sentence = ({ type }: PublicField, { code, message }: FieldIssue): string => {
  if (code === 'missing_required') {
    if (type === 'boolean') return 'Tick this box.';
    return type === 'enum' ? 'Choose one of the options.' : 'Fill in this field.';
  }
  if (code === 'unknown_enum') return 'Choose one of the options.';
  if (code !== 'type_mismatch') return message;
  switch (type) {
    case 'integer':
      return 'Enter a whole number.';
    case 'decimal':
      return 'Enter a number with a point before its decimals, such as 12.50.';
    case 'date':
      return 'Enter a date, such as 2026-11-30.';
    case 'datetime':
      return 'Enter a date and a time, such as 2026-11-30 14:00.';
    case 'enum':
      return 'Choose one of the options.';
    case 'boolean':
    case 'text':
    case 'long_text':
      return message;
    default:
      return type satisfies never;
  }
};

const hintOf = ({ type, min, max }: PublicField, timeZone: string): string | undefined => {
  if (type === 'datetime') return `Time zone: ${timeZone}`;
  if (min !== undefined && max !== undefined) return `From ${min} to ${max}`;
  if (min !== undefined) return `At least ${min}`;
  return max === undefined ? undefined : `At most ${max}`;
};

const textOf = (field: PublicField, texts: Texts | undefined): string | undefined => {
  const text = texts !== undefined && Object.hasOwn(texts, field.key) ? texts[field.key] : undefined;
  return typeof text === 'string' ? text : text?.at(-1);
};

const inputOf = (field: PublicField, text: string, common: Html): Html => {
  const { type, options = [], maxLength, min, max } = field;
  const input = (own: Parameters<typeof attributes>[0]): Html =>
    html`<input${common}${attributes({ ...own, value: text })}>`;
  switch (type) {
    case 'text':
      return input({ type: 'text', maxlength: maxLength ?? MAX_TEXT });
    case 'long_text': {
      const own = attributes({ rows: 5, maxlength: maxLength ?? MAX_LONG_TEXT });
      // HTML drops a line break right after the tag.
      return html`<textarea${common}${own}>
${text}</textarea>`;
    }
    case 'integer':
      return input({ type: 'number', step: 1, inputmode: 'numeric', min, max });
    case 'decimal':
      return input({ type: 'number', step: 'any', inputmode: 'decimal', min, max });
    case 'date':
      return input({ type: 'date' });
    case 'datetime':
      return input({ type: 'datetime-local' });
    case 'enum': {
      const choices = options.map(
        (option) =>
          html`<option${attributes({ value: option, selected: option === text })}>${option}</option>`,
      );
      return html`<select${common}><option value="">Choose…</option>${choices}</select>`;
    }
    case 'boolean':
      return html`<input${common} type="checkbox" value="true"${attributes({ checked: isTicked(text) })}>`;
    default:
      return type satisfies never;
  }
};

const fieldOf = (field: PublicField, form: FormPage, problem: string | undefined): Html => {
  const { key, label, type, required, requiredByForm } = field;
  const [id, hint] = [idOf(field), hintOf(field, form.timeZone)];
  const isTick = type === 'boolean';
  // A checkbox that only the entity requires may stay unticked, which means false.
  const needed = isTick ? requiredByForm : required;
  const described = [hint === undefined ? '' : `${id}-hint`, problem === undefined ? '' : `${id}-wrong`];
  const common = attributes({
    id,
    name: key,
    required: needed,
    'aria-describedby': described.filter((each) => each !== '').join(' ') || undefined,
    'aria-invalid': problem === undefined ? undefined : 'true',
  });
  const initial = form.texts === undefined && isTick && field.default === true ? 'true' : '';
  const input = inputOf(field, textOf(field, form.texts) ?? initial, common);
  const labelled = html`<label for="${id}">${label}${needed ? html` <span class="needed">(required)</span>` : undefined}</label>`;
  const hinted = hint === undefined ? undefined : html`<p class="hint" id="${id}-hint">${hint}</p>`;
  const wrong = problem === undefined ? undefined : html`<p class="wrong" id="${id}-wrong">${problem}</p>`;
  return isTick
    ? html`<div class="field">${wrong}<div class="tick">${input}${labelled}</div></div>
`
    : html`<div class="field">${labelled}${hinted}${wrong}${input}</div>
`;
};

/** The first problem of each field, and the problems that belong to no field of the form. */
const sorted = ({ fields, issues = [] }: FormPage) => {
  const byKey = new Map(fields.map((field) => [`${VALUES}${field.key}`, field]));
  const problems = new Map<string, string>();
  const others: string[] = [];
  for (const issue of issues) {
    const field = byKey.get(issue.path);
    if (field === undefined) {
      const name = issue.path.startsWith(VALUES) ? issue.path.slice(VALUES.length) : '';
      others.push(name === '' ? issue.message : `${name}: ${issue.message}`);
    } else if (!problems.has(field.key)) problems.set(field.key, sentence(field, issue));
  }
  return { problems, others };
};

export const formPage = (form: FormPage): string => {
  const { problems, others } = sorted(form);
  const isWrong = problems.size + others.length > 0;
  const links = form.fields.flatMap((field) => {
    const problem = problems.get(field.key);
    return problem === undefined
      ? []
      : [html`<li><a href="#${idOf(field)}">${field.label}: ${problem}</a></li>`];
  });
  const summary = html`<div class="summary" role="alert" aria-labelledby="summary-title">
<h2 id="summary-title">There is a problem</h2>
<ul>${links}${others.map((text) => html`<li>${text}</li>`)}</ul>
</div>
`;
  const content = html`<h1>${form.title}</h1>
${isWrong ? summary : undefined}<form method="post" action="${form.action}" accept-charset="utf-8">
<input type="hidden" name="${SUBMISSION_INPUT}" value="${form.submissionId}" autocomplete="off">
${form.fields.map((field) => fieldOf(field, form, problems.get(field.key)))}<button type="submit">Send</button>
</form>`;
  return page(isWrong ? `Error: ${form.title}` : form.title, content);
};

/** @param again the form's address, relative to the address of this page */
export const thanksPage = (title: string, again: string): string =>
  page(
    `Sent: ${title}`,
    html`<h1>Thank you</h1>
<p role="status">Your answers to “${title}” have been sent.</p>
<p><a href="${again}">Fill in the form again</a></p>`,
  );
