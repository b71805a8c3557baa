import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';

/** Checks that the second answer replays the first, with the header that says so. */
export const expectReplay = (first: Answer, second: Answer): void => {
  expect([second.status, second.text]).to.deep.equal([first.status, first.text]);
  expect(first.header('idempotency-replayed')).to.equal(undefined);
  expect(second.header('idempotency-replayed')).to.equal('true');
  for (const name of ['x-event-position', 'content-type']) {
    expect(second.header(name), name).to.equal(first.header(name));
  }
};
