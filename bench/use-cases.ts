import type { Platform } from '../api/platform.ts';

/** Use cases and machinery of a running product, for figures that call them without HTTP. */
export const useCasesOf = ({ areas, core }: Platform) => ({
  ...core,
  ...areas.identity,
  ...areas.tenancy,
  ...areas.messaging,
  ...areas.entities,
  ...areas.bulk,
  ...areas.ledger,
  ...areas.webhooks,
  ...areas.billing,
  ...areas.partners,
  ...areas.assistant,
});

export type UseCases = ReturnType<typeof useCasesOf>;
