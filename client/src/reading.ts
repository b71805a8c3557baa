/** The URL of the next page, from `Link: <…>; rel="next"`. @throws {TypeError} when it has another origin than `url` */
export const nextPage = (response: Response, url: string): URL | undefined => {
  const link = /<([^>]+)>\s*;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  if (link === undefined) return undefined;
  const next = new URL(link, url);
  // The next request would send the token to that origin.
  if (next.origin !== new URL(url).origin) throw new TypeError(`The next page is at ${next.origin}.`);
  return next;
};

/** The values of a stream of JSON lines, as they arrive. */
export const linesOf = async function* (stream: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (let isDone = false; !isDone; ) {
      const { done, value } = await reader.read();
      isDone = done;
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n');
      rest = done ? '' : (lines.pop() ?? '');
      for (const line of lines) if (line !== '') yield JSON.parse(line);
    }
  } finally {
    // Ends the download when the caller stops early.
    await reader.cancel();
  }
};
