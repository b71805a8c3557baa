import type { Gauge } from 'prom-client';
import type { Gauges } from '../../application/ports/metrics.ts';
import type { Instruments } from './instruments.ts';

/** A gauge without a value is left out of the scrape, so that a process without the work does not report 0. */
const setter = (gauge: Gauge): ((value: number | undefined) => void) => {
  gauge.reset();
  gauge.remove();
  return (value) => (value === undefined ? gauge.remove() : gauge.set(value));
};

/** Gauges of current values. Work under a lease is measured only by the process that holds the lease. */
export const gaugesIn = ({ gauge }: Instruments): Gauges => {
  const greatest = (name: string, help: string) => setter(gauge(name, help, 'max'));
  /** A value for each label. */
  const greatestOf = (name: string, help: string, labelName: string) => {
    const values = gauge(name, help, 'max', labelName);
    return (label: string, value: number | undefined): void =>
      value === undefined ? values.remove(label) : values.labels(label).set(value);
  };
  const pending = setter(
    gauge(
      'webhook_deliveries_pending',
      'Deliveries of active subscriptions that wait for an attempt; at most 256 are counted for each subscription.',
      'sum',
    ),
  );
  const oldestDue = greatest(
    'webhook_oldest_due_seconds',
    'How long the delivery that is due longest has waited for its attempt; 0 when none is due.',
  );
  return {
    subscriberLag: greatestOf(
      'subscriber_lag_seconds',
      'Age of the oldest event that a subscriber has not handled; 0 when it has handled all.',
      'subscriber',
    ),
    tenantsBehind: greatestOf(
      'subscriber_tenants_behind',
      'Tenants with more events than their queues hold; a subscriber reads the others again.',
      'subscriber',
    ),
    pendingDeliveries: (count, oldest) => {
      pending(count);
      oldestDue(oldest);
    },
    deadLetters: greatest('webhook_dead_letters', 'Deliveries in dead-letter logs, counted up to 10,000.'),
    pausedSubscriptions: greatest(
      'webhook_subscriptions_paused',
      'Paused webhook subscriptions, counted up to 10,000.',
    ),
    openPostingFailures: greatest(
      'posting_failures_open',
      'Posting failures that are not resolved, counted up to 10,000.',
    ),
    queuedRows: greatest('bulk_rows_queued', 'Rows of bulk commits that are not processed yet.'),
    storeBytes: greatestOf('store_bytes', 'Bytes of the log, the read models and the other stores.', 'store'),
    headAge: greatest(
      'signed_heads_age_seconds',
      'Time since every tenant with new events got a signed head.',
    ),
  };
};
