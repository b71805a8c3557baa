/** The tenant that the attacks must not disturb. */
export const QUIET = 'quiet';
/**
 * Attackers connect from another address of this machine, which stands for other machines. Only Linux has a second
 * one.
 */
export const ELSEWHERE = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
