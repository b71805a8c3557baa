import { useSearchParams } from 'wouter';

/**
 * Filters that are kept in the address of the page, so that they can be linked to and survive a reload.
 * @param names the parameters; `set` with an empty text takes one away, `clear` all of them
 */
export const useFilters = <N extends string>(names: readonly N[]) => {
  const [params, setParams] = useSearchParams();
  const change = (edit: (next: URLSearchParams) => void): void =>
    setParams(
      (present) => {
        const next = new URLSearchParams(present);
        edit(next);
        return next;
      },
      { replace: true },
    );
  return {
    of: (name: N): string => params.get(name) ?? '',
    isAny: names.some((name) => params.has(name)),
    set: (name: N, value: string): void =>
      change((next) => {
        if (value === '') next.delete(name);
        else next.set(name, value);
      }),
    clear: (): void =>
      change((next) => {
        for (const name of names) next.delete(name);
      }),
  };
};
