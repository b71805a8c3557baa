import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';
import { PAGE_HEADERS, page } from './page.ts';

/**
 * The page of a one-time link for a new password. The secret is in the link's fragment: only the script sends it. With
 * `method="post"`, a browser without scripts sends the password in a body, not in an address.
 */

const SCRIPT = `
const form = document.querySelector('form');
const said = document.querySelector('[role=status]');
const link = location.hash.slice(1);
history.replaceState(null, '', location.pathname);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const body = JSON.stringify({ link, new_password: form.elements.password.value });
  try {
    const answer = await fetch(location.pathname, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    form.hidden = answer.ok;
    // A proxy may answer without JSON.
    const { message = 'The password could not be set. Please try again.' } = await answer.json().catch(() => ({}));
    said.textContent = answer.ok ? 'Your password is set. You can sign in with it now.' : message;
  } catch {
    said.textContent = 'The server did not answer. Please try again.';
  }
});
`;

const HASH = createHash('sha256').update(SCRIPT).digest('base64');

export const PASSWORD_PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...PAGE_HEADERS,
  'Content-Security-Policy': `${PAGE_HEADERS['Content-Security-Policy']}; script-src 'sha256-${HASH}'; connect-src 'self'`,
  'Referrer-Policy': 'no-referrer',
};

export const passwordPage = (): string =>
  page(
    'A new password',
    html`<h1>A new password</h1>
<form method="post">
<div class="field">
<label for="password">New password</label>
<p class="hint">10 to 200 characters.</p>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="10" maxlength="200">
</div>
<button>Set the password</button>
</form>
<p role="status"></p>
<script>${new Html(SCRIPT)}</script>`,
  );
