import { DomainError, invalid, notFound } from '../../domain/core/errors.ts';
import type { Changes } from '../../domain/core/stream-type.ts';
import { type Field, isName } from '../../domain/entities/fields.ts';
import { constraintViolated } from '../../domain/entities/record-values.ts';
import { duplicates, lacking, misplaced, type PublicField, publicFields } from '../../domain/forms/fields.ts';
import {
  archiveForm,
  changedForm,
  changeForm,
  createForm,
  deleteForm,
  type ExistingForm,
  existingForm,
  type Form,
  type FormChange,
  type FormDefinition,
  type FormEvent,
  type FormField,
  formStream,
  isForm,
  publishForm,
} from '../../domain/forms/form.ts';
import { isSlug, slugTaken } from '../../domain/forms/slug.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Schemas } from '../entities/schemas.ts';
import type { Directory } from '../identity/directory.ts';
import type { Position } from '../ports/event-store.ts';
import type { FormSlugs } from './form-slugs.ts';

/** A field as given by the caller; the default label is the label of the entity's field. */
type GivenField = Omit<FormField, 'label'> & { readonly label?: string | undefined };

export interface GivenForm extends Omit<FormDefinition, 'fields'> {
  readonly fields: readonly GivenField[];
}
type GivenChange = Changes<GivenForm>;

type WrittenForm = Written<{ readonly form: ExistingForm }>;

/** A form that the public may fill in now. */
export interface OpenForm {
  readonly tenantId: string;
  readonly form: ExistingForm;
  readonly fields: readonly PublicField[];
  /** The entity's own fields. */
  readonly entity: readonly Field[];
  /** The tenant's time zone, which local times refer to. */
  readonly timeZone: string;
}

/** Use cases on forms (decisions, section 6, Form). */
export class Forms extends WithDeps<{
  readonly streams: Streams;
  readonly schemas: Pick<Schemas, 'findLatest' | 'requireLatest'>;
  readonly directory: Directory;
  readonly slugs: FormSlugs;
}> {
  /**
   * @throws `validation_failed`, `already_exists` for the slug, `constraint_violated` for the entity or its fields
   */
  async create(tenantId: string, given: GivenForm, context: RequestContext): Promise<WrittenForm> {
    refuseDuplicates(given.fields);
    const { cause } = context;
    const [id, claimId] = [context.newId(), context.newId()];
    await this.deps.slugs.refuseTaken(tenantId, given.slug, id);
    const definition = await this.#checked(tenantId, given, 'draft');
    const claim = { slug: given.slug, formId: id, claimId };
    await this.deps.slugs.take(tenantId, claim, cause);
    return written(
      await this.deps.streams.of(formStream, tenantId, id).execute(context, {
        prepare: () => this.deps.slugs.holds(tenantId, claim),
        decide: (state, _context, isHeld) => {
          if (!isHeld) throw slugTaken();
          return createForm(state, { id, claimId, definition });
        },
      }),
    );
  }

  /**
   * Changes of a published form take effect at once.
   * @throws `not_found`, `validation_failed`, `already_exists`, `constraint_violated`, `conflict`
   */
  async change(
    tenantId: string,
    id: string,
    change: GivenChange,
    context: RequestContext,
  ): Promise<WrittenForm> {
    if (change.fields !== undefined) refuseDuplicates(change.fields);
    const { cause } = context;
    const claimId = context.newId();
    const before = existingForm(await this.deps.slugs.form(tenantId, id));
    const slug = change.slug ?? before.slug;
    const takes = slug !== before.slug;
    if (takes) await this.deps.slugs.refuseTaken(tenantId, slug, id);
    await this.#checkedChange(tenantId, before, change);
    const claim = { slug, formId: id, claimId };
    if (takes) await this.deps.slugs.take(tenantId, claim, cause);
    let left: ExistingForm | undefined;
    const outcome = await this.deps.streams.of(formStream, tenantId, id).execute(context, {
      prepare: async ({ state }) => ({
        checked: isForm(state) ? await this.#checkedChange(tenantId, state, change) : {},
        isHeld: takes && (await this.deps.slugs.holds(tenantId, claim)),
      }),
      decide: (state, _context, { checked, isHeld }) => {
        const present = existingForm(state);
        if (takes && !isHeld) throw slugTaken();
        if (!takes && slug !== present.slug && change.slug !== undefined) {
          throw new DomainError('conflict', 'The form was changed in the meantime. Try again.');
        }
        left = takes ? present : undefined;
        return changeForm(state, checked, takes ? claimId : present.claimId);
      },
    });
    if (left !== undefined) await this.#release(tenantId, left, context);
    return written(outcome);
  }

  /**
   * Publishes a draft or an archived form; has no effect on a published form.
   * @throws `not_found`, `constraint_violated` when a field does not fit the entity or a required field is missing
   */
  async publish(tenantId: string, id: string, context: RequestContext): Promise<WrittenForm> {
    return written(
      await this.deps.streams.of(formStream, tenantId, id).execute(context, {
        prepare: async ({ state }) => {
          if (isForm(state) && state.status !== 'published')
            await this.#checked(tenantId, state, 'published');
        },
        decide: publishForm,
      }),
    );
  }

  /** Has no effect on an archived form. @throws `not_found` */
  async archive(tenantId: string, id: string, context: RequestContext): Promise<WrittenForm> {
    return written(await this.deps.streams.of(formStream, tenantId, id).execute(context, archiveForm));
  }

  /** Deletes a form and frees its slug. @throws `not_found` */
  async delete(tenantId: string, id: string, context: RequestContext): Promise<Position | undefined> {
    let left: ExistingForm | undefined;
    const { position } = await this.deps.streams
      .of(formStream, tenantId, id)
      .execute({ cause: context.cause }, (state) => {
        left = existingForm(state);
        return deleteForm(state);
      });
    if (left !== undefined) await this.#release(tenantId, left, context);
    return position;
  }

  /**
   * The published form of an active tenant.
   * @throws `not_found`, with the same message in all cases
   */
  async open(tenantId: string, slug: string): Promise<OpenForm> {
    if (!isTenantId(tenantId) || !isSlug(slug)) throw notFound();
    const { claim } = await this.deps.slugs.load(tenantId, slug);
    if (claim === undefined) throw notFound();
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant?.status !== 'active') throw notFound();
    const form = await this.deps.slugs.form(tenantId, claim.formId);
    if (form.status !== 'published' || form.slug !== slug) throw notFound();
    const { fields: entity } = await this.deps.schemas.requireLatest(tenantId, form.entityName);
    const fields = publicFields(form.fields, entity);
    return { tenantId, form, fields, entity, timeZone: tenant.timezone };
  }

  /** Frees the slug after the form's event. A claim that a crash leaves behind is unused and expires. */
  #release(tenantId: string, { id, slug, claimId }: ExistingForm, { cause }: RequestContext): Promise<void> {
    return this.deps.slugs.free(tenantId, { slug, formId: id, claimId }, cause);
  }

  /** The change as stored: every field has a label. */
  async #checkedChange(tenantId: string, form: ExistingForm, change: GivenChange): Promise<FormChange> {
    const { slug, title, entityName = form.entityName } = change;
    // A form whose fields no longer fit the entity may still get another slug or title.
    if (change.fields === undefined && entityName === form.entityName) return { slug, title };
    const asked = { ...changedForm(form, { slug, title, entityName }), fields: change.fields ?? form.fields };
    const { fields } = await this.#checked(tenantId, asked, form.status);
    return { slug, title, entityName, fields };
  }

  /** A published form must have all fields that the entity requires; a draft and an archived form need not. */
  async #checked(
    tenantId: string,
    given: GivenForm,
    status: ExistingForm['status'],
  ): Promise<FormDefinition> {
    const entity = await this.#entity(tenantId, given.entityName);
    const issues = [
      ...misplaced(given.fields, entity),
      ...(status === 'published' ? lacking(given.fields, entity) : []),
    ];
    if (issues.length > 0) throw constraintViolated(issues);
    const labels = new Map(entity.map(({ key, label }) => [key, label]));
    const fields = given.fields.map(({ field_key, label, required }) => ({
      field_key,
      label: label ?? labels.get(field_key) ?? field_key,
      required,
    }));
    return { ...given, fields };
  }

  async #entity(tenantId: string, name: string): Promise<readonly Field[]> {
    const entity = isName(name) ? await this.deps.schemas.findLatest(tenantId, name) : undefined;
    if (entity !== undefined) return entity.fields;
    const message = 'There is no entity with this name.';
    throw constraintViolated([{ path: 'entity_name', code: 'reference_not_found', message }]);
  }
}

const refuseDuplicates = (fields: readonly GivenField[]): void => {
  const issues = duplicates(fields);
  if (issues.length > 0) throw invalid(issues);
};

const written = ({ state, position }: Outcome<Form, FormEvent>): WrittenForm => ({
  form: existingForm(state),
  position,
});
