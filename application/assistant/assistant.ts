import { questionStream, recordQuestion } from '../../domain/assistant/question.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import { type Answerer, NOTHING_FOUND } from './answering.ts';
import type { Turn } from './question.ts';
import { QuestionLimiter } from './question-limiter.ts';
import type { Retrieval } from './retrieval.ts';
import type { Passage } from './tenant-indexes.ts';
import { streamSafe } from './texts/stream-safe.ts';

/** UTF-16 units used of each message of the conversation; a request may hold a megabyte. */
const MAX_TURN = 8000;

export interface Asked {
  readonly message: string;
  readonly history: readonly Turn[];
}

export interface Answer {
  readonly reply: string;
  readonly passages: readonly Passage[];
  readonly position: Position | undefined;
}

/** Answers questions (specification, Assistant). Stores only that a question was asked, never its text. */
export class Assistant extends WithDeps<{
  readonly retrieval: Retrieval;
  readonly answerer: Answerer;
  readonly streams: Streams;
}> {
  readonly #admission = new QuestionLimiter();

  /**
   * @throws {DomainError} `embedding_model_unavailable`, `unavailable`, `rate_limited`,
   * `assistant_upstream_unexpected`
   */
  ask(tenantId: string, question: Asked, context: RequestContext): Promise<Answer> {
    return this.#admission.admit(tenantId, () => this.#answer(tenantId, question, context));
  }

  async #answer(
    tenantId: string,
    { message, history: whole }: Asked,
    context: RequestContext,
  ): Promise<Answer> {
    const history = whole.map(({ role, content }) => ({
      role,
      content: streamSafe(content.slice(0, MAX_TURN).toWellFormed()),
    }));
    const id = context.newId();
    const passages = await this.deps.retrieval.retrieve(tenantId, message, history);
    const reply =
      passages.length === 0 ? NOTHING_FOUND : await this.deps.answerer.answer(message, history, passages);
    const { position } = await this.deps.streams
      .of(questionStream, tenantId, id)
      .execute(context, (state) => recordQuestion(state, id, passages.length));
    return { reply, passages, position };
  }
}
