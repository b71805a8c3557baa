import { expect } from 'chai';
import fc from 'fast-check';
import { instantOfLocal } from '../../../domain/forms/local-time.ts';

describe('A local time of a form', () => {
  for (const [zone, text, instant] of [
    ['UTC', '2026-01-02T03:04', '2026-01-02T03:04:00.000Z'],
    ['UTC', '2026-01-02T03:04:05.678', '2026-01-02T03:04:05.678Z'],
    ['UTC', '2026-01-02 03:04', '2026-01-02T03:04:00.000Z'],
    ['Europe/Berlin', '2026-01-15T12:00', '2026-01-15T11:00:00.000Z'],
    ['Europe/Berlin', '2026-07-15T12:00', '2026-07-15T10:00:00.000Z'],
    // Clocks go from 2:00 to 3:00.
    ['Europe/Berlin', '2026-03-29T01:59', '2026-03-29T00:59:00.000Z'],
    ['Europe/Berlin', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
    ['Europe/Berlin', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
    // Clocks go back from 3:00 to 2:00: the first of the two instants.
    ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
    ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
    ['Asia/Kathmandu', '2026-01-01T00:00', '2025-12-31T18:15:00.000Z'],
    ['America/New_York', '2026-11-01T01:30', '2026-11-01T05:30:00.000Z'],
    ['Pacific/Kiritimati', '2026-01-01T00:00', '2025-12-31T10:00:00.000Z'],
    ['Australia/Lord_Howe', '2026-04-05T01:45', '2026-04-04T14:45:00.000Z'],
  ] as const) {
    it(`is ${instant} for ${text} in ${zone}`, () => {
      expect(instantOfLocal(text, zone)).to.equal(instant);
    });
  }

  for (const text of [
    '',
    '2026-01-02',
    '2026-02-30T10:00',
    '2026-01-02T24:00',
    '2026-01-02T10:60',
    '2026-01-02T10:00Z',
    '2026-01-02T10:00+02:00',
    'x2026-01-02T10:00',
    '2026-01-02T10:00\n',
    '12026-01-02T10:00',
  ]) {
    it(`is undefined for ${JSON.stringify(text)}`, () => {
      expect(instantOfLocal(text, 'Europe/Berlin')).to.equal(undefined);
    });
  }

  it('is undefined outside the years 0 to 9999', () => {
    expect(instantOfLocal('0000-01-01T00:00', 'Asia/Tokyo')).to.equal(undefined);
    expect(instantOfLocal('9999-12-31T23:59', 'America/New_York')).to.equal(undefined);
    expect(instantOfLocal('9999-12-31T23:59', 'UTC')).to.equal('9999-12-31T23:59:00.000Z');
  });

  it('matches a clock in the zone for every unambiguous instant', () => {
    const zones = fc.constantFrom(
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
      'Pacific/Apia',
      'UTC',
    );
    const minutes = fc.integer({ min: 0, max: (100 * 365 * 86_400) / 60 });
    fc.assert(
      fc.property(zones, minutes, (timeZone, minute) => {
        const instant = minute * 60_000;
        const shown = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
        const local = shown.format(instant).replace(' ', 'T');
        const found = Date.parse(instantOfLocal(local, timeZone) ?? '');
        // At the result the clock shows the same local time; of two such instants, the result is the first.
        return shown.format(found).replace(' ', 'T') === local && found <= instant;
      }),
      { numRuns: 300 },
    );
  });
});
