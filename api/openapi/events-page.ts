import { Html, html } from '../pages/html.ts';
import type { AsyncApiDocument } from './asyncapi.ts';

/** The AsyncAPI document as a page: static HTML without scripts. */

/** Renders Markdown of our own texts: paragraphs, tables and `code` only. */
const markdown = (text: string): Html[] => text.split('\n\n').map(block);

const block = (text: string): Html => {
  if (!text.startsWith('|')) return html`<p>${inline(text)}</p>`;
  const [head = [], , ...rows] = text.split('\n').map((line) => line.split('|').slice(1, -1));
  return html`<table><tr>${head.map((cell) => html`<th>${inline(cell.trim())}</th>`)}</tr>${rows.map(
    (row) => html`<tr>${row.map((cell) => html`<td>${inline(cell.trim())}</td>`)}</tr>`,
  )}</table>`;
};

const inline = (text: string): Html[] =>
  text.split('`').map((part, i) => (i % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));

const json = (value: unknown): Html => html`<pre>${JSON.stringify(value, undefined, 2)}</pre>`;

const nameOf = ({ $ref }: { readonly $ref: string }): string => $ref.split('/').at(-1) ?? '';

export const eventsPage = (document: AsyncApiDocument): string => {
  const { info, channels, components } = document;
  const schemas = new Map<string, unknown>(Object.entries(components.schemas));
  const messages = new Map(Object.entries(components.messages));
  const message = (ref: { readonly $ref: string }): Html => {
    const found = messages.get(nameOf(ref));
    if (found === undefined) return html``;
    return html`<h3 id="${found.name}">${found.title}</h3><p>${inline(found.summary)}</p>
${found.examples?.map(({ payload }) => html`<p>Example:</p>${json(payload)}`)}
<details><summary>Schema</summary>${json(schemas.get(nameOf(found.payload)))}</details>`;
  };
  const channel = ({
    title,
    address,
    description,
    messages: refs,
  }: (typeof channels)[keyof typeof channels]) =>
    html`<h2>${title}${address === null ? '' : html` <code>${address}</code>`}</h2>${markdown(description)}
${Object.values(refs).map(message)}`;
  return html`${new Html('<!doctype html>')}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="events.css">
</head>
<body>
<h1>${info.title} ${info.version}</h1>
<p>${inline(info.description)} <a href="../docs">REST</a>, <a href="../asyncapi.json">this page as AsyncAPI 3</a>.</p>
${[channel(channels.socket), channel(channels.webhooks)]}
</body>
</html>
`.text;
};

export const EVENTS_STYLE = `body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
pre { background: #f5f5f5; padding: 1rem; overflow: auto; font-size: 14px; }
code { background: #f5f5f5; }
table { border-collapse: collapse; }
th, td { border: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; }
`;
