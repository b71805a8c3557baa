/** A value outside of React, which `useSyncExternalStore` reads. */
export const createStore = <T>(initial: T) => {
  let present = initial;
  const listeners = new Set<() => void>();
  return {
    get: (): T => present,
    set: (next: T): void => {
      present = next;
      for (const listener of listeners) listener();
    },
    /** @returns a function that ends the subscription */
    subscribe: (listener: () => void): (() => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
