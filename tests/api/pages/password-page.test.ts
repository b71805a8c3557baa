import { expect } from 'chai';
import { passwordPage } from '../../../api/pages/password-page.ts';

describe('The page for a new password', () => {
  it('never puts the password into an address, not even without its script', () => {
    expect(passwordPage()).to.contain('<form method="post">');
  });
});
