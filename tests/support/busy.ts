/**
 * Keeps the thread busy for `ms` of its processor time. System time counts too, since reading the times is a system
 * call, which on some machines takes more time than the loop itself.
 */
export const busyFor = (ms: number): void => {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  const began = spent();
  while (spent() - began < ms);
};
