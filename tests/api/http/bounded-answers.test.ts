import { expect } from 'chai';
import { z } from 'zod';
import { routesWithoutServer } from '../../../api/openapi/routes.ts';

/** Lists inside answers that have no `limit`, each with the reason why it is bounded. A new list needs an entry. */
const BOUNDED: Readonly<Record<string, string>> = {
  'getApiToken scopes': 'a fixed set',
  'getTenant sso.return_origins': 'the list in the body of the request that sets it',
  'listProjections ': 'the read models of the product',
  'getPartnerSession permissions': 'a fixed set',
  'listStatements ': 'the customers of one partner',
  'getReconciliation buckets': 'the customers of one partner, or the meters',
  'getInvoice lines': 'meters of one rate card',
  'getConversation participants': 'MAX_PARTICIPANTS',
  'getEntity fields': 'MAX_FIELDS',
  'getJob history': 'the last 1,000',
  'getJob allowed_events': 'transitions of one definition',
  'getForm fields': 'MAX_FIELDS',
  'getPublicForm fields': 'MAX_FIELDS',
  'getBulkSession selection.ids': 'the greatest preview',
  'getBulkSession op_params.fields': 'MAX_FIELDS',
  'getBulkSession preview.cascade_summary.by_entity': 'the quota of entities',
  'getBulkSession preview.errors': 'a sample',
  'getBulkSession preview.sample_affected': 'a sample',
  'getBulkSession result.cascade_applied.by_entity': 'the quota of entities',
  'getEntry lines': 'MAX_LINES',
  'listPostingRuleSources ': 'a fixed set',
  'getPostingRule lines': 'MAX_RULE_LINES',
  'trialBalance accounts': 'the quota of accounts',
  'profitAndLoss revenue': 'the quota of accounts',
  'profitAndLoss expenses': 'the quota of accounts',
  'balanceSheet assets': 'the quota of accounts',
  'balanceSheet liabilities': 'the quota of accounts',
  'balanceSheet equity': 'the quota of accounts',
  'readWebhook events': 'a fixed set',
  'readWebhookDelivery history': 'MAX_ATTEMPTS_SHOWN',
};

/** Paths of the lists in a schema, without lists inside the elements of a list. */
const listsIn = (schema: unknown, path: readonly string[] = []): string[] => {
  if (schema instanceof z.ZodArray) return [path.join('.')];
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([name, inner]) => listsIn(inner, [...path, name]));
  }
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => listsIn(option, path));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return listsIn(schema.def.innerType, path);
  }
  return [];
};

describe('Lists in answers', () => {
  it('are pages with a limit, or have a bound that is named here', async () => {
    const found = (await routesWithoutServer()).flatMap(({ method, operationId, query, responses }) => {
      const isPage = query instanceof z.ZodObject && 'limit' in query.shape;
      if (method !== 'get' || isPage) return [];
      return Object.values(responses).flatMap((schema) =>
        listsIn(schema).map((path) => `${operationId} ${path}`),
      );
    });
    expect([...new Set(found)].sort()).to.deep.equal(Object.keys(BOUNDED).sort());
  });

  it('are found at any depth', () => {
    const inner = z.object({ b: z.array(z.string()).optional() }).nullable();
    expect(listsIn(z.object({ a: z.union([z.string(), inner]) }))).to.deep.equal(['a.b']);
    expect(listsIn(z.array(z.array(z.string())))).to.deep.equal(['']);
  });
});
