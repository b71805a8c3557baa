/** Which of JSON and HTML a client would rather have. */

const qualityOf = (parameters: readonly string[]): number => {
  for (const parameter of parameters) {
    const [name = '', value = ''] = parameter.split('=');
    if (name.trim().toLowerCase() !== 'q') continue;
    const quality = Number(value.trim());
    return Number.isNaN(quality) ? 0 : quality;
  }
  return 1;
};

/** JSON unless HTML is named, wanted at least as much as anything, and more than JSON where that is named too. */
export const prefersHtml = (accept: string | undefined): boolean => {
  if (accept === undefined) return false;
  const wanted = new Map<string, number>();
  for (const range of accept.split(',', 100)) {
    const [type = '', ...parameters] = range.split(';');
    wanted.set(type.trim().toLowerCase(), qualityOf(parameters));
  }
  const page = wanted.get('text/html') ?? 0;
  const json = wanted.get('application/json') ?? -1;
  const anything = Math.max(wanted.get('*/*') ?? 0, wanted.get('application/*') ?? 0);
  return page > 0 && page > json && page >= anything;
};
