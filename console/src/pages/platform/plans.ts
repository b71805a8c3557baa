import type { components } from '../../../../client/src/index.ts';

export type Plan = components['schemas']['Tenant']['plan'];

export const PLANS = [
  ['free', 'Free'],
  ['hobby', 'Hobby'],
  ['pro', 'Pro'],
  ['business', 'Business'],
  ['enterprise', 'Enterprise'],
] as const satisfies readonly (readonly [Plan, string])[];

export const planOf = (text: string): Plan => PLANS.find(([plan]) => plan === text)?.[0] ?? 'free';
