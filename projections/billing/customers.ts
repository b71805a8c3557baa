import { type Customer, handedOver, overlaps, renamed, type Tenure } from '../../domain/billing/tenure.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import { type DocumentReader, every, iso, projection, touch } from '../../domain/core/projection.ts';
import type { TenantEvent } from '../../domain/tenancy/tenant.ts';
import { cutDay } from './metered-days.ts';

/**
 * Tenures of tenants. Part of the read model `metering`, so that counts never run ahead of hand-overs. One document per
 * tenant, stored under the platform.
 */

export interface CustomerDoc {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  /** In the order of time. */
  readonly tenures: readonly Tenure[];
  /** `<partner>/<end>/` for each ended tenure, `<partner>/~` for the present tenure. */
  readonly ends: readonly string[];
}

const endOf = ({ partner_id, to }: Tenure): string => `${partner_id}/${to === null ? '~' : `${to.at}/`}`;

const withEnds = (doc: Omit<CustomerDoc, 'ends'>): CustomerDoc => ({ ...doc, ends: doc.tenures.map(endOf) });

export const customers = projection<TenantEvent>({
  name: 'metering',
  version: 1,
  collections: [{ name: 'customers', indexes: [{ name: 'by_end', fields: ['ends'], multi: 'ends' }] }],
  on: {
    TenantCreated: ({ data: { tenant_id: id, name, partner_id }, at }) => [
      touch<CustomerDoc>('customers', id, () => {
        const tenures = partner_id === null ? [] : [{ partner_id, from: null, to: null, name }];
        return withEnds({ id, name, created_at: iso(at), tenures });
      }),
    ],
    TenantChanged: ({ data: { tenant_id: id, name, partner_id }, at, position }) => {
      if (name === undefined && partner_id === undefined) return [];
      const moment = { at: iso(at), position };
      const customer = touch<CustomerDoc>('customers', id, (doc) => {
        if (doc === undefined) return undefined;
        const newName = name ?? doc.name;
        const tenures =
          partner_id === undefined
            ? renamed(doc.tenures, newName)
            : handedOver(doc.tenures, partner_id, newName, moment);
        return withEnds({ ...doc, name: newName, tenures });
      });
      return partner_id === undefined ? [customer] : [customer, cutDay(id, moment)];
    },
  },
});

// Queries

/** Undefined for a tenant that was never the partner's customer. */
const customerOf = (partnerId: string, { id, tenures }: CustomerDoc): Customer | undefined => {
  const own = tenures.filter((tenure) => tenure.partner_id === partnerId);
  const last = own.at(-1);
  return last === undefined ? undefined : { id, name: last.name, partnerId, tenures: own };
};

export const customerById = async (
  reader: DocumentReader,
  partnerId: string,
  id: string,
): Promise<Customer | undefined> => {
  const doc = await reader.get<CustomerDoc>('customers', PLATFORM, id);
  return doc === undefined ? undefined : customerOf(partnerId, doc);
};

/** The partner's present customers, then former customers with a tenure in the window, each group oldest first. */
export const customersOf = async (
  reader: DocumentReader,
  partnerId: string,
  window: { readonly from: string; readonly to: string },
): Promise<readonly Customer[]> => {
  const found = new Map<string, CustomerDoc>();
  const range = { gt: `${partnerId}/${window.from}`, lt: `${partnerId}/~~` };
  for await (const doc of every<CustomerDoc>((page) =>
    reader.find('customers', PLATFORM, { index: 'by_end', equals: [], range, order: 'asc', ...page }),
  )) {
    found.set(doc.id, doc);
  }
  const inOrder = [...found.values()].sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  const all = inOrder.flatMap((doc) => customerOf(partnerId, doc) ?? []);
  const isPresent = ({ tenures }: Customer): boolean => tenures.at(-1)?.to === null;
  return [
    ...all.filter(isPresent),
    ...all.filter(
      (customer) => !isPresent(customer) && customer.tenures.some((tenure) => overlaps(tenure, window)),
    ),
  ];
};

const orderOf = ({ created_at, id }: CustomerDoc): string => `${created_at} ${id}`;
