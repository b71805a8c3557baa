import { loaded } from './loaded.tsx';

const { load, Loaded } = loaded(
  () => import('./shell/signed-in.tsx'),
  () => null,
);

/** The page of signed-in people. It has a script of its own, since the sign-in page does not need it. */
export const Entered = Loaded;

/** Preloads the signed-in page, so that no empty page is shown. `Entered` shows the error if that fails. */
export const prepare = (): Promise<unknown> => load().catch(() => undefined);
