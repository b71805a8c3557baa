import { z } from 'zod';
import { isSameJson } from '../core/canonical-json.ts';
import { type FieldIssue, invalid, notFound, violated } from '../core/errors.ts';
import { decided, defineEvent, type EventMeta, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import { parseCondition } from '../expressions/condition.ts';
import { AmountProblem, minorUnits } from './money.ts';
import { isPathOf, SOURCE_KINDS, sourceOf } from './rule-sources.ts';

/**
 * The posting rules of a tenant (decisions, section 9, Posting rule), all in the stream `posting_rules-main`: the
 * order of the log determines which rules apply to an event.
 */

// Events

/** An amount has exactly one of these forms; the forms refuse unknown keys, so that no value matches two forms. */
const ruleAmount = z.union([
  z.strictObject({ path: z.string() }),
  /** Minor units, or a decimal text of major units. */
  z.strictObject({ fixed: z.union([z.number(), z.string()]) }),
  z.strictObject({ percent: z.number(), path: z.string() }),
  z.strictObject({ remainder: z.literal(true) }),
]);
export type RuleAmount = z.output<typeof ruleAmount>;

export const SIDES = ['debit', 'credit'] as const;
export const MODES = ['draft', 'post'] as const;

const ruleLine = z.object({
  account_code: z.string(),
  side: z.enum(SIDES),
  amount: ruleAmount,
  memo: z.string().optional(),
});
export type RuleLine = z.output<typeof ruleLine>;

const content = z.object({
  name: z.string(),
  source_kind: z.enum(SOURCE_KINDS),
  active: z.boolean(),
  when: z.string().optional(),
  date: z.string().optional(),
  lines: z.array(ruleLine),
  mode: z.enum(MODES),
});
export type RuleContent = z.output<typeof content>;

const rule = content.extend({ rule_id: z.string() });
export const PostingRuleCreated = defineEvent('PostingRuleCreated', rule);
/** Holds the whole rule after the change. */
export const PostingRuleChanged = defineEvent('PostingRuleChanged', rule);

export const postingRuleEvents = [PostingRuleCreated, PostingRuleChanged] as const;
export type PostingRuleEvent = EventOf<(typeof postingRuleEvents)[number]>;

// State

export interface PostingRule extends RuleContent {
  readonly id: string;
  /** ms */
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface PostingRuleSet {
  readonly byId: Readonly<Record<string, PostingRule>>;
}

export const evolveRule = (
  before: PostingRule | undefined,
  { data }: PostingRuleEvent,
  { at }: Pick<EventMeta, 'at'>,
): PostingRule => {
  const { rule_id: id, ...now } = data;
  return { ...now, id, createdAt: before?.createdAt ?? at, updatedAt: at };
};

export const postingRulesStream: StreamType<PostingRuleSet, PostingRuleEvent> = {
  category: 'posting_rules',
  stateVersion: 1,
  initial: { byId: {} },
  evolve: ({ byId }, event, meta) => {
    const id = event.data.rule_id;
    return { byId: { ...byId, [id]: evolveRule(byId[id], event, meta) } };
  },
};

/** Id of the only stream: `<tenant>.posting_rules-main`. */
export const POSTING_RULES = 'main';

// Decide

/** Bounds the state, which holds all rules. */
export const MAX_RULES = 200;
export const MAX_RULE_LINES = 100;

export type RuleChange = { readonly [K in keyof RuleContent]?: RuleContent[K] | null | undefined };

/** @throws `constraint_violated` above {@link MAX_RULES} */
export const createRule = (
  { byId }: PostingRuleSet,
  id: string,
  given: RuleContent,
): readonly PostingRuleEvent[] => {
  if (Object.keys(byId).length >= MAX_RULES) {
    throw violated('', 'too_many', `A tenant can have at most ${MAX_RULES} posting rules.`);
  }
  return decided(PostingRuleCreated, { rule_id: id, ...given });
};

/** Equal values change nothing; null removes `when` or `date`. @throws `not_found`, `validation_failed` */
export const changeRule = (
  state: PostingRuleSet,
  id: string,
  change: RuleChange,
): readonly PostingRuleEvent[] => {
  const before = ruleOf(state, id);
  const after = changed(before, change);
  requireRule(after);
  if (isSameJson(after, contentOf(before))) return [];
  return decided(PostingRuleChanged, { rule_id: id, ...after });
};

/** @throws `not_found` */
export const ruleOf = ({ byId }: PostingRuleSet, id: string): PostingRule => {
  const found = Object.hasOwn(byId, id) ? byId[id] : undefined;
  if (found === undefined) throw notFound();
  return found;
};

export const contentOf = ({
  name,
  source_kind,
  active,
  when,
  date,
  lines,
  mode,
}: RuleContent): RuleContent => ({
  name,
  source_kind,
  active,
  ...(when === undefined ? {} : { when }),
  ...(date === undefined ? {} : { date }),
  lines,
  mode,
});

const changed = (before: PostingRule, change: RuleChange): RuleContent =>
  contentOf({
    name: change.name ?? before.name,
    source_kind: change.source_kind ?? before.source_kind,
    active: change.active ?? before.active,
    when: change.when === undefined ? before.when : (change.when ?? undefined),
    date: change.date === undefined ? before.date : (change.date ?? undefined),
    lines: change.lines ?? before.lines,
    mode: change.mode ?? before.mode,
  });

/**
 * Checks the condition, that payloads of the source kind have the paths, and that at most one line is the remainder.
 * @throws `validation_failed`: an invalid condition is reported alone, all other issues are reported together
 */
export const requireRule = ({ source_kind, when, date, lines }: RuleContent): void => {
  if (when !== undefined) parseCondition(when, ['payload'], 'when');
  const source = sourceOf(source_kind);
  const issues: FieldIssue[] = [];
  const requirePath = (value: string, path: string): void => {
    if (isPathOf(source, value)) return;
    const message = `A payload of ${source_kind} has no path ${JSON.stringify(value.slice(0, 80))}.`;
    issues.push({ path, code: 'unknown_path', message });
  };
  if (date !== undefined) requirePath(date, 'date');
  for (const [index, { amount }] of lines.entries()) {
    if ('path' in amount) requirePath(amount.path, `lines.${index}.amount.path`);
  }
  const remainders = lines.flatMap(({ amount }, index) => ('remainder' in amount ? [index] : []));
  if (remainders.length > 1) {
    const message = 'At most one line can take the remainder.';
    issues.push({ path: `lines.${remainders[1]}.amount`, code: 'second_remainder', message });
  }
  if (issues.length > 0) throw invalid(issues);
};

/**
 * Checks fixed amounts against the ledger's currency; the rule would otherwise fail at each event.
 * @throws `validation_failed` with every issue
 */
export const requireFixedAmounts = (lines: readonly RuleLine[], currency: string): void => {
  const issues = lines.flatMap(({ amount }, index): FieldIssue[] => {
    if (!('fixed' in amount)) return [];
    try {
      minorUnits(amount.fixed, currency);
      return [];
    } catch (error) {
      if (!(error instanceof AmountProblem)) throw error;
      return [{ path: `lines.${index}.amount.fixed`, code: error.code, message: error.message }];
    }
  });
  if (issues.length > 0) throw invalid(issues);
};
