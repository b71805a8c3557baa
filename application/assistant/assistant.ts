import { questionStream, recordQuestion } from '../../domain/assistant/question.ts';
import { DomainError } from '../../domain/core/errors.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { monotonic } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import type { Metrics, QuestionOutcome } from '../ports/metrics.ts';
import { type Answerer, NOTHING_FOUND } from './answering.ts';
import type { Turn } from './question.ts';
import { QuestionLimiter } from './question-limiter.ts';
import type { CitedPassage, Retrieval } from './retrieval.ts';
import { streamSafe } from './texts/stream-safe.ts';

/** Most UTF-16 units used of each earlier message of the conversation, since a request may have a megabyte. */
const MAX_TURN = 8000;

export interface Asked {
  readonly message: string;
  readonly history: readonly Turn[];
}

export interface Answer {
  readonly reply: string;
  readonly passages: readonly CitedPassage[];
  readonly position: Position | undefined;
}

/** Answers questions (specification, Assistant). Stores how many passages it found, never a text. */
export class Assistant extends WithDeps<{
  readonly retrieval: Retrieval;
  readonly answerer: Answerer;
  readonly streams: Streams;
  readonly metrics: Pick<Metrics, 'questionAsked'>;
}> {
  readonly #limiter = new QuestionLimiter();

  /**
   * @throws {DomainError} `embedding_model_unavailable`, `unavailable`, `rate_limited`,
   * `assistant_upstream_unexpected`
   */
  async ask(tenantId: string, question: Asked, context: RequestContext): Promise<Answer> {
    const began = monotonic();
    let outcome: QuestionOutcome = 'failed';
    try {
      const answer = await this.#limiter.admit(tenantId, () => this.#answer(tenantId, question, context));
      outcome = answer.passages.length === 0 ? 'nothing_found' : 'answered';
      return answer;
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      this.deps.metrics.questionAsked(outcome, (monotonic() - began) / 1000);
    }
  }

  async #answer(
    tenantId: string,
    { message: asked, history: whole }: Asked,
    context: RequestContext,
  ): Promise<Answer> {
    const message = streamSafe(asked);
    const history = whole.map(({ role, content }) => ({
      role,
      content: streamSafe(content.slice(0, MAX_TURN).toWellFormed()),
    }));
    const id = context.newId();
    const passages = await this.deps.retrieval.retrieve(tenantId, message, history);
    const reply =
      passages.length === 0 ? NOTHING_FOUND : await this.deps.answerer(message, history, passages);
    const { position } = await this.deps.streams
      .of(questionStream, tenantId, id)
      .execute(context, (state) => recordQuestion(state, id, passages.length));
    return { reply, passages, position };
  }
}

const outcomeOf = (error: unknown): QuestionOutcome => {
  const code = error instanceof DomainError ? error.code : undefined;
  if (code === 'rate_limited') return 'refused';
  return code === 'unavailable' || code === 'embedding_model_unavailable' ? 'unavailable' : 'failed';
};
