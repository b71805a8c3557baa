import { useLocation } from 'wouter';
import { useSearch } from 'wouter/use-browser-location';

/** The values that are not empty, as parts of a query or a body. */
export const given = <T extends Readonly<Record<string, string>>>(values: T): Partial<T> => {
  const kept: Partial<T> = { ...values };
  for (const name in kept) if (kept[name] === '') delete kept[name];
  return kept;
};

/**
 * Filters that are kept in the address of the page, so that they can be linked to and survive a reload.
 * @param names the parameters; `set` with an empty text removes a parameter, `clear` removes all
 */
export const useFilters = <N extends string>(names: readonly N[]) => {
  // Not `useSearchParams`, which decodes values twice: `%20` in a text would be a space.
  const params = new URLSearchParams(useSearch());
  const [path, navigate] = useLocation();
  const edit = (changes: Iterable<readonly [string, string]>): void => {
    const next = new URLSearchParams(location.search);
    for (const [name, value] of changes) {
      if (value === '') next.delete(name);
      else next.set(name, value);
    }
    navigate(next.size === 0 ? path : `${path}?${next}`, { replace: true });
  };
  return {
    of: (name: N): string => params.get(name) ?? '',
    isAny: names.some((name) => params.has(name)),
    /** The parameters that are set, as parts of a query. */
    given: <C extends N>(...chosen: readonly C[]): { readonly [name in C]?: string } =>
      Object.fromEntries(
        chosen.map((name) => [name, params.get(name) ?? '']).filter(([, value]) => value !== ''),
      ),
    set: (name: N, value: string): void => edit([[name, value]]),
    /** Props of the filter's field. */
    field: (name: N) => ({
      value: params.get(name) ?? '',
      onChange: (value: string): void => edit([[name, value]]),
    }),
    /** Changes several parameters at once. */
    change: (values: { readonly [name in N]?: string }): void =>
      edit(names.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]]))),
    clear: (): void => edit(names.map((name) => [name, ''])),
  };
};
