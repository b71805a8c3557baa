import { type ComponentType, useEffect, useState } from 'react';

/**
 * A component whose script is loaded before it is shown. If that fails, the next one that is shown loads it again.
 * React's `lazy` would fail for ever, and show `Waiting` for at least 300 ms, even if the script is loaded.
 */
export const loaded = <P extends object>(
  read: () => Promise<{ default: ComponentType<P> }>,
  Waiting: ComponentType,
) => {
  let known: ComponentType<P> | undefined;
  const load = async (): Promise<ComponentType<P>> => {
    known ??= (await read()).default;
    return known;
  };
  const Loaded = (props: P) => {
    const [Content, setContent] = useState(() => known);
    const [failed, setFailed] = useState<unknown>();
    useEffect(() => {
      load().then((content) => setContent(() => content), setFailed);
    }, []);
    if (failed !== undefined) throw failed;
    return Content === undefined ? <Waiting /> : <Content {...props} />;
  };
  return { load, Loaded };
};
