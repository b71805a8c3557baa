import { DomainError, invalidAt, notFound } from '../../domain/core/errors.ts';
import type { Plan } from '../../domain/tenancy/tenant.ts';
import {
  type ChangeSubscription,
  changeSubscription,
  createSubscription,
  deleteSubscription,
  rotateSecret,
  SUBSCRIPTIONS,
  type Subscription,
  type SubscriptionEvent,
  type Subscriptions,
  subscriptionIn,
  subscriptionOf,
  subscriptionsStream,
  WebhookCreated,
  WebhookSecretRotated,
} from '../../domain/webhooks/subscription.ts';
import type { Decide, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { webhookKeyId } from '../core/privacy/key-ids.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import type { OutboundHttp } from '../ports/outbound-http.ts';

type Changed = Written<{ readonly subscription: Subscription }>;

/** Use cases on webhook subscriptions (specification, Webhooks; decisions, section 8). */
export class Webhooks extends WithDeps<{
  readonly streams: Streams;
  readonly keys: KeyRing;
  readonly http: Pick<OutboundHttp, 'check'>;
  readonly newSecret: () => string;
  /** How long (ms) the previous secret stays valid after a rotation. */
  readonly graceMs: number;
}> {
  /**
   * @returns the subscription, and its secret, which is not shown again
   * @throws `validation_failed`, `url_refused`, `plan_required`, `subscription_limit_reached`
   */
  async create(
    tenantId: string,
    { url, events, description }: Pick<Subscription, 'url' | 'events' | 'description'>,
    plan: Plan,
    context: RequestContext,
  ): Promise<Changed & { secret: string }> {
    await this.#checkUrl(url);
    const id = context.newId();
    const secret = this.deps.newSecret();
    const outcome = await this.#execute(tenantId, context, (state) =>
      createSubscription(state, { id, url, events, description, secret, plan }),
    );
    const made = outcome.events.map((event) => dataOf(WebhookCreated, event)?.secret);
    return { ...this.#changed(outcome, id), secret: await this.#shown(made) };
  }

  /** Equal values have no effect. @throws `not_found`, and the errors of {@link create} */
  async change(
    tenantId: string,
    id: string,
    change: ChangeSubscription,
    plan: Plan,
    context: RequestContext,
  ): Promise<Changed> {
    const now = await this.find(tenantId, id);
    if (change.url !== undefined && change.url !== now.url) await this.#checkUrl(change.url);
    const outcome = await this.#execute(tenantId, context, (state) =>
      changeSubscription(state, id, change, plan),
    );
    return this.#changed(outcome, id);
  }

  /** @throws `not_found` */
  async rotate(tenantId: string, id: string, context: RequestContext): Promise<Changed & { secret: string }> {
    const secret = this.deps.newSecret();
    const { graceMs } = this.deps;
    const outcome = await this.#execute(tenantId, context, (state, at) =>
      rotateSecret(state, id, { secret, graceMs }, at),
    );
    const made = outcome.events.map((event) => dataOf(WebhookSecretRotated, event)?.secret);
    return { ...this.#changed(outcome, id), secret: await this.#shown(made) };
  }

  /** Resolves when the secret is destroyed; the dispatcher drops waiting deliveries later. @throws `not_found` */
  async delete(tenantId: string, id: string, context: RequestContext): Promise<Position | undefined> {
    const { position } = await this.#execute(tenantId, context, (state) => deleteSubscription(state, id));
    await this.deps.keys.destroy(webhookKeyId(tenantId, id));
    return position;
  }

  /** Reads the store before it reports a subscription as unknown. @throws `not_found` */
  async find(tenantId: string, id: string): Promise<Subscription> {
    const stream = this.deps.streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS);
    const state = await stream.loadWhere((cached) => subscriptionIn(cached, id) !== undefined);
    return subscriptionOf(state, id);
  }

  /** @throws `validation_failed` for text that is not a URL, `url_refused` for a URL that calls may not reach */
  async #checkUrl(url: string): Promise<void> {
    if (!URL.canParse(url)) throw invalidAt('url', 'invalid_format', 'This is not a URL.');
    const verdict = await this.deps.http.check(url);
    if (!verdict.ok) throw new DomainError('url_refused', verdict.message, { reason: verdict.reason });
  }

  #execute(
    tenantId: string,
    context: RequestContext,
    decide: Decide<Subscriptions, SubscriptionEvent, undefined>,
  ) {
    return this.deps.streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS).execute(context, decide);
  }

  #changed(outcome: Written<{ state: Subscriptions }>, id: string): Changed {
    return { subscription: subscriptionOf(outcome.state, id), position: outcome.position };
  }

  /** The opened secret; for a retried keyed request, the secret that its first try made. */
  async #shown(sealed: readonly (string | undefined)[]): Promise<string> {
    const made = sealed.find((each) => each !== undefined);
    const secret = made === undefined ? undefined : await this.deps.keys.open(made);
    if (secret === undefined) throw notFound();
    return secret;
  }
}
