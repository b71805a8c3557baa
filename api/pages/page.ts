import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';

/**
 * The frame of pages: one style sheet, nothing loaded from elsewhere, no script. Only `password-page.ts` adds a script.
 */

const STYLE = `
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;padding:1.5rem 1rem 4rem;background:#f4f5f7;color:#16181d;font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:40rem;margin:0 auto;padding:1.5rem 1.25rem;background:#fff;border:1px solid #d5d8de;border-radius:.5rem}
@media (min-width:40rem){body{padding-top:3rem}main{padding:2.25rem 2.5rem}}
h1,h2,p,label,li,.hint{overflow-wrap:anywhere}
h1{margin:0 0 1.5rem;font-size:1.75rem;line-height:1.25}
h2{margin:0 0 .5rem;font-size:1.125rem;line-height:1.3}
p{margin:0 0 1rem}
.field{margin:0 0 1.5rem}
label{display:block;margin:0 0 .25rem;font-weight:600}
.needed{font-weight:400;color:#4d5461}
.hint{margin:0 0 .375rem;color:#4d5461;font-size:.9375rem}
.wrong{margin:0 0 .375rem;color:#a8071a;font-weight:600}
.field:has(.wrong){padding-left:.875rem;border-left:4px solid #a8071a}
input,select,textarea{display:block;width:100%;min-width:0;max-width:100%;min-height:2.75rem;padding:.5rem .625rem;border:1px solid #6b7280;border-radius:.25rem;background:#fff;color:inherit;font:inherit}
textarea{min-height:8rem;resize:vertical}
[aria-invalid]{border:2px solid #a8071a}
input[type=number],input[type=date]{max-width:16rem}
input[type=datetime-local]{max-width:18rem}
.tick{display:flex;align-items:flex-start;gap:.625rem}
.tick label{margin:0}
.tick input{flex:none;width:1.5rem;height:1.5rem;min-height:0;margin:0}
button{display:inline-block;min-height:2.75rem;padding:.625rem 1.5rem;border:0;border-radius:.25rem;background:#1d4ed8;color:#fff;font:inherit;font-weight:600;cursor:pointer}
button:hover{background:#1e3a8a}
:focus-visible{outline:3px solid #f5a300;outline-offset:2px}
a{color:#1d4ed8}
.summary{margin:0 0 1.75rem;padding:1rem 1.125rem;border:2px solid #a8071a;border-radius:.25rem}
.summary ul{margin:0;padding-left:1.25rem}
.summary a{color:#a8071a;font-weight:600}
`;

/**
 * The policy of a page whose scripts and styles are files of this server.
 * @param others sources of its other parts
 */
export const policyOfFiles = (others: readonly string[], ...more: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ...others,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    ...more,
  ].join('; ');

const policyOf = (style: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');

/** Headers of a page, in addition to those of every answer (`http/exchange.ts`). */
export const pageHeaders = (style: string): Readonly<Record<string, string>> => ({
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policyOf(style),
  Vary: 'Accept',
});

export const PAGE_HEADERS: Readonly<Record<string, string>> = pageHeaders(STYLE);

/** @param style must be the style that the answer's headers allow */
export const page = (title: string, content: Html, style = STYLE): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
<main>
${content}
</main>
</body>
</html>
`.text;
