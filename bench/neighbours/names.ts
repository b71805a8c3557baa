/** The tenant that the attacks must not disturb. */
export const QUIET = 'quiet';
