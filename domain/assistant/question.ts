import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

/** Records that a question was asked (decisions, section 7). The stream is `assistant-<question id>`. */

/** Holds neither the question nor the reply; metadata names the person. */
export const AssistantQuestionAsked = defineEvent(
  'AssistantQuestionAsked',
  z.object({
    question_id: z.string(),
    /** Number of chunks of the corpus that the answer is based on. */
    retrieved: z.number().int().nonnegative(),
    /** False when no chunk of the corpus was relevant. */
    answered: z.boolean(),
  }),
);

export const assistantEvents = [AssistantQuestionAsked] as const;
type AssistantEvent = EventOf<(typeof assistantEvents)[number]>;

export interface Question {
  readonly asked: boolean;
}

export const questionStream: StreamType<Question, AssistantEvent> = {
  category: 'assistant',
  stateVersion: 1,
  initial: { asked: false },
  evolve: () => ({ asked: true }),
};

/** Records a question; a repeated request changes nothing. */
export const recordQuestion = (state: Question, id: string, retrieved: number): readonly AssistantEvent[] =>
  state.asked ? [] : decided(AssistantQuestionAsked, { question_id: id, retrieved, answered: retrieved > 0 });
