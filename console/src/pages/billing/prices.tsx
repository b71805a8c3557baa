import { useState } from 'react';
import { ApiError, type components } from '../../../../client/src/index.ts';
import {
  Button,
  Card,
  Form,
  type FormValues,
  Page,
  PendingCard,
  TextField,
  Time,
  useAction,
} from '../../kit/index.ts';
import { BillingLinks, METER_NAMES, METERS, type Meter, useRateCard } from './range.tsx';
import '../../styles/billing.css';

type RateCard = components['schemas']['RateCard'];
type Body = components['schemas']['ReplaceRateCardBody'];

const INVALIDATED = [['rate-card'], ['statements'], ['reconciliation']] as const;
const PARTS = ['wholesale', 'retail', 'included'] as const;

export default function Prices() {
  const read = useRateCard(Number.POSITIVE_INFINITY);
  const { data } = read;
  return (
    <Page
      title="Rate card"
      about="Wholesale is what you pay, retail what your customers pay. Everything that is not invoiced yet is priced with the current card; existing invoices keep their prices."
    >
      <BillingLinks />
      {data === undefined ? (
        <PendingCard of={read} what="the rate card" />
      ) : (
        // The key starts the form again with the values of another version.
        <Editor key={data.version} card={data} reload={() => void read.refetch()} />
      )}
    </Page>
  );
}

const Editor = ({ card, reload }: { card: RateCard; reload: () => void }) => {
  const [isOutdated, setOutdated] = useState(false);
  const save = useAction(
    (client, body: Body) =>
      client.put('/api/v1/partner-portal/billing/rate-card', {
        body,
        params: { header: { 'If-Match': `"${card.version}"` } },
      }),
    { invalidates: INVALIDATED, done: ({ version }) => `Version ${version} is saved.` },
  );
  return (
    <Card title={card.version === 0 ? 'No prices yet' : `Version ${card.version}`}>
      <Form
        submit="Save as a new version"
        onSubmit={async (values) => {
          setOutdated(false);
          try {
            await save.mutateAsync(bodyOf(values));
          } catch (error) {
            setOutdated(error instanceof ApiError && error.code === 'conflict');
            throw error;
          }
        }}
      >
        {card.updated_at === null ? null : (
          <p className="muted">
            Saved <Time at={card.updated_at} />.
          </p>
        )}
        <TextField
          name="currency"
          label="Currency"
          required
          maxLength={3}
          defaultValue={card.currency}
          hint="It cannot be changed while there are invoices in another currency."
        />
        <section className="scroll-x" aria-label="Prices" tabIndex={0}>
          <table className="figures billing-rates">
            <thead>
              <tr>
                <th scope="col">Meter</th>
                <th scope="col">Wholesale</th>
                <th scope="col">Retail</th>
                <th scope="col">Included each month</th>
              </tr>
            </thead>
            <tbody>
              {METER_NAMES.map((meter) => (
                <tr key={meter}>
                  <th scope="row">{METERS[meter]}</th>
                  {PARTS.map((part) => (
                    <td key={part}>
                      <Price meter={meter} part={part} value={card.rates[meter]?.[part]} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
        <p className="small muted">
          Prices are in minor units, with up to six decimal places: 12.5 cents are 0.125 euros. A meter
          without prices is not priced.
        </p>
        {isOutdated ? (
          <div className="row">
            <Button size="small" onClick={reload}>
              Load the current card
            </Button>
            <span className="small">
              Another user has saved a newer card. Loading it discards what you typed here.
            </span>
          </div>
        ) : null}
      </Form>
    </Card>
  );
};

interface PriceProps {
  readonly meter: Meter;
  readonly part: (typeof PARTS)[number];
  readonly value: string | number | undefined;
}

const Price = ({ meter, part, value }: PriceProps) => (
  <TextField
    name={`rates.${meter}.${part}`}
    label={<span className="hidden-text">{`${METERS[meter]}, ${part}`}</span>}
    inputMode="decimal"
    autoComplete="off"
    defaultValue={value === 0 ? '' : value}
  />
);

/** @throws {RangeError} for a meter with an input but without both prices */
const bodyOf = (values: FormValues): Body => {
  const rates = METER_NAMES.flatMap((meter) => {
    const [wholesale, retail, included] = PARTS.map((part) => values.optional(`rates.${meter}.${part}`));
    if (wholesale === undefined && retail === undefined && included === undefined) return [];
    if (wholesale === undefined || retail === undefined)
      throw new RangeError(`${METERS[meter]} needs a wholesale and a retail price; each may be 0.`);
    return [
      [meter, { wholesale, retail, ...(included === undefined ? {} : { included: Number(included) }) }],
    ];
  });
  return { currency: values.text('currency').toUpperCase(), rates: Object.fromEntries(rates) };
};
