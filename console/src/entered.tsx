import { type ComponentType, useEffect, useState } from 'react';
import type { SignedInProps } from './shell/signed-in.tsx';

/**
 * The page of signed-in people. It has a script of its own, since the sign-in page does not need it. React's `lazy`
 * would show an empty page for at least 300 ms first, even if the script is loaded.
 */

let loaded: ComponentType<SignedInProps> | undefined;

const load = async (): Promise<ComponentType<SignedInProps>> => {
  loaded ??= (await import('./shell/signed-in.tsx')).default;
  return loaded;
};

/** Preloads the signed-in page, so that no empty page is shown. `Entered` shows the error if that fails. */
export const prepare = (): Promise<unknown> => load().catch(() => undefined);

export const Entered = (props: SignedInProps) => {
  const [SignedIn, setSignedIn] = useState(() => loaded);
  const [failed, setFailed] = useState<unknown>();
  useEffect(() => {
    load().then((shell) => setSignedIn(() => shell), setFailed);
  }, []);
  if (failed !== undefined) throw failed;
  return SignedIn === undefined ? null : <SignedIn {...props} />;
};
