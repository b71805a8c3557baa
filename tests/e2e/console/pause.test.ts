import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { pause } from '../../../console/src/kit/pause.ts';

describe('A pause between two reads of the Console', () => {
  it('leaves no listener at its signal, and ends when the signal is aborted', async () => {
    const ending = new AbortController();
    const { signal } = ending;
    await pause(1, signal);
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
    const long = pause(1_000_000, signal);
    ending.abort();
    await long;
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });
});
