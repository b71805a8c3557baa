import type { IncomingHttpHeaders } from 'node:http';
import { parse } from 'content-type';
import { z } from 'zod';
import type { IdempotencyUse } from '../../../application/core/commands/request-context.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { FormSubmissions, GivenSubmission } from '../../../application/forms/form-submissions.ts';
import type { Forms, OpenForm } from '../../../application/forms/forms.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { FILLABLE } from '../../../domain/forms/fields.ts';
import { isSubmissionId, SUBMISSION_ID, SUBMISSION_ID_RULE } from '../../../domain/forms/submission.ts';
import { type Texts, valuesOfTexts } from '../../../domain/forms/texts.ts';
import { prefersHtml } from '../../http/accept.ts';
import { type ErrorAnswer, STATUS_OF } from '../../http/errors.ts';
import { SENTENCES, validationError } from '../../http/issues.ts';
import { MEDIA_TYPES } from '../../http/media-types.ts';
import type { Page, Reply, Route } from '../../http/route.ts';
import { type FormPage, formPage, SUBMISSION_INPUT, thanksPage } from '../../pages/form-page.ts';
import { PAGE_HEADERS } from '../../pages/page.ts';
import { refusedPage } from '../../pages/refused-page.ts';
import { recordBody } from '../entities/record-requests.ts';
import { bothPaths, publicRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly formSubmissions: FormSubmissions;
  readonly forms: Forms;
  readonly ids: Ids;
  readonly readModels: ReadModels;
}

const BASE = '/public/forms/:tenant/:slug';

/** Any text; an invalid name of a form is a 404 like an unknown one. */
const params = z.object({ tenant: z.string(), slug: z.string() });

const publicFormView = z
  .object({
    tenant: z.string(),
    slug: z.string(),
    title: z.string(),
    fields: z.array(
      z.object({
        field_key: z.string(),
        label: z.string(),
        required: z.boolean().meta({ description: 'By the form, or by the entity without a default.' }),
        type: z.enum(FILLABLE),
        options: z.array(z.string()).optional(),
        max_length: z.int().optional(),
        min: z.union([z.number(), z.string()]).optional(),
        max: z.union([z.number(), z.string()]).optional(),
      }),
    ),
  })
  .meta({ id: 'PublicForm' });

const viewOf = ({ tenantId, form, fields }: OpenForm): z.output<typeof publicFormView> => ({
  tenant: tenantId,
  slug: form.slug,
  title: form.title,
  fields: fields.map(({ key, label, required, type, options, maxLength, min, max }) => ({
    field_key: key,
    label,
    required,
    type,
    ...(options === undefined ? {} : { options: [...options] }),
    ...(maxLength === undefined ? {} : { max_length: maxLength }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  })),
});

const JSON_HEADERS = { Vary: 'Accept' };

const jsonSubmission = recordBody.extend({
  submission_id: z.string().regex(SUBMISSION_ID, SUBMISSION_ID_RULE).optional(),
});
type JsonSubmission = z.output<typeof jsonSubmission>;

/** A JSON body is checked by {@link jsonSubmission}; a form's body is flat, with field keys as names. */
const submissionBody = z.custom<Readonly<Record<string, unknown>>>().meta({
  override: {
    type: 'object',
    properties: {
      values: { type: 'object', additionalProperties: true },
      submission_id: {
        type: 'string',
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description: 'The same again is the same submission. Made by the server unless given.',
      },
    },
    description: `As a form: a value per field, and \`${SUBMISSION_INPUT}\`.`,
  },
});

/** @returns the values, and also the error if only `submission_id` is invalid */
const asJson = (body: unknown): { sent: JsonSubmission; refused?: DomainError } => {
  const result = jsonSubmission.safeParse(body, SENTENCES);
  if (result.success) return { sent: result.data };
  const refused = validationError(result.error.issues);
  const rest = recordBody.safeParse(body, SENTENCES);
  if (!rest.success) throw refused;
  return { sent: { ...rest.data, submission_id: '' }, refused };
};

/** Replaces `not_found`, so that a bad body is reported before a missing form. */
const orElse = (refused: DomainError) => (error: unknown) => {
  throw error instanceof DomainError && error.code === 'not_found' ? refused : error;
};

const isForm = (contentType: string | undefined): boolean =>
  contentType !== undefined && parse(contentType).type === MEDIA_TYPES.form;

/** A client without our page may send the id as `submission_id`, unless the form has a field of that name. */
const identified = ({ fields }: OpenForm, body: Texts): { id: string | undefined; texts: Texts } => {
  const isField = fields.some(({ key }) => key === 'submission_id');
  const name = SUBMISSION_INPUT in body || isField ? SUBMISSION_INPUT : 'submission_id';
  const { [name]: given, ...texts } = body;
  // Several ids become an empty id, which is refused as invalid.
  return { id: typeof given === 'object' ? '' : given, texts };
};

/** The page for browsers; undefined (JSON) for other clients, and for every 404. */
const errorPage = (answer: ErrorAnswer, headers: IncomingHttpHeaders): Page | undefined => {
  const code = answer.body.error;
  const isWanted = isForm(headers['content-type'])
    ? code !== 'not_found'
    : (code === 'rate_limited' || code === 'unsupported_media_type') && prefersHtml(headers.accept);
  if (!isWanted) return undefined;
  const { status, body } = answer;
  const seconds = answer.headers?.['Retry-After'];
  return { body: refusedPage({ status, message: body.message, seconds }), headers: PAGE_HEADERS };
};

/** Published forms and their submissions by strangers (decisions, section 6, Form). */
export const publicFormRoutes = (deps: Deps): Route[] => {
  const pageOf = (open: OpenForm, rest: Omit<FormPage, 'title' | 'fields' | 'timeZone'>): string =>
    formPage({ title: open.form.title, fields: open.fields, timeZone: open.timeZone, ...rest });

  const submit = async (open: OpenForm, submission: GivenSubmission, requestId: string) => {
    const sent = await deps.formSubmissions.submit(open, submission, requestId);
    // People of the tenant who read from now on see this submission.
    if (sent.position !== undefined) deps.readModels.answered(open.tenantId, sent.position);
    return sent;
  };

  /** Answers with a page: thanks, or the form with the entered values and their problems. */
  const submitPage = async (
    open: OpenForm,
    body: Texts,
    key: IdempotencyUse | undefined,
    requestId: string,
  ): Promise<Reply> => {
    const { id, texts } = identified(open, body);
    try {
      const values = valuesOfTexts(open.fields, texts, open.timeZone);
      const { position } = await submit(open, { id, key, values }, requestId);
      const body = thanksPage(open.form.title, `../${open.form.slug}`);
      return { status: 201, body, headers: PAGE_HEADERS, position };
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === 'not_found') throw error;
      const status = STATUS_OF[error.code];
      if (status >= 500) throw error;
      const shown = {
        action: 'submissions',
        submissionId: id !== undefined && isSubmissionId(id) ? id : deps.ids.next(),
        texts,
        issues: error.issues.length > 0 ? error.issues : [{ path: '', code: '', message: error.message }],
      };
      return { status, body: pageOf(open, shown), headers: PAGE_HEADERS };
    }
  };

  return tagged('Public forms', [
    publicRoute({
      method: 'get',
      ...bothPaths(BASE),
      operationId: 'getPublicForm',
      openQuery: true,
      summary: 'A published form; with `Accept: text/html` as a page',
      description: 'Anybody may read it. A browser gets a page that can be filled in.',
      params,
      responses: { 200: publicFormView },
      handle: async ({ params: { tenant, slug }, headers }) => {
        const open = await deps.forms.open(tenant, slug);
        if (!prefersHtml(headers.accept)) return { status: 200, body: viewOf(open), headers: JSON_HEADERS };
        const shown = { action: `${slug}/submissions`, submissionId: deps.ids.next() };
        return { status: 200, body: pageOf(open, shown), headers: PAGE_HEADERS };
      },
    }),

    publicRoute({
      method: 'post',
      ...bothPaths(`${BASE}/submissions`),
      operationId: 'submitForm',
      openQuery: true,
      summary: 'Fill in a published form; the same `submission_id` again changes nothing',
      description:
        'Creates a record of the form’s entity and tells webhooks `form.submitted`. Limited to 30 ' +
        'submissions a minute for each address.',
      limit: 'public',
      keyedBy: 'stranger',
      errorPage,
      params,
      bodyKinds: ['json', 'form'],
      body: submissionBody,
      responses: { 201: z.object({ submission_id: z.string() }).meta({ id: 'Submitted' }) },
      errors: ['constraint_violated', 'conflict'],
      handle: async ({ params: { tenant, slug }, headers, body, idempotency: key, requestId }) => {
        if (isForm(headers['content-type'])) {
          const open = await deps.forms.open(tenant, slug);
          // The parser of forms gives texts and lists of texts.
          return submitPage(open, body as Texts, key, requestId);
        }
        const { sent, refused } = asJson(body);
        const { values, submission_id: id } = sent;
        const opening = deps.forms.open(tenant, slug);
        const open = await (refused === undefined ? opening : opening.catch(orElse(refused)));
        const { submissionId, position } = await submit(open, { id, key, values }, requestId);
        return { status: 201, body: { submission_id: submissionId }, headers: JSON_HEADERS, position };
      },
    }),
  ]);
};
