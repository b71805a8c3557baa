import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { defineEvent, type EventOf } from '../event.ts';

/** A question to the assistant, as far as it is remembered: that it was asked. `assistant-<question id>` */

/** Neither the question nor the reply is in it; who asked is in the metadata. */
export const AssistantQuestionAsked = defineEvent(
  'AssistantQuestionAsked',
  z.object({
    question_id: z.string(),
    /** Chunks that the answer is grounded in. */
    retrieved: z.number().int().nonnegative(),
    /** False where nothing in the corpus was relevant. */
    answered: z.boolean(),
  }),
);

export const assistantEvents = [AssistantQuestionAsked] as const;
export type AssistantEvent = EventOf<(typeof assistantEvents)[number]>;

export interface Question {
  readonly asked: boolean;
}

export const questionDecider: Decider<Question, AssistantEvent> = {
  category: 'assistant',
  stateVersion: 1,
  initial: { asked: false },
  evolve: () => ({ asked: true }),
};

/** Once, however often the request with its id is repeated. */
export const noteQuestion = (state: Question, id: string, retrieved: number): readonly AssistantEvent[] =>
  state.asked
    ? []
    : [{ type: 'AssistantQuestionAsked', data: { question_id: id, retrieved, answered: retrieved > 0 } }];
