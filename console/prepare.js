/**
 * Run by `npm ci` of the repository: builds the Console. An installation without development dependencies skips the
 * build. A failed build does not fail the installation: `/console` then answers 404 with the reason, and everything
 * else works.
 */

const started = Date.now();
try {
  await import('./build.js');
  console.log(`The Console is built, in ${((Date.now() - started) / 1000).toFixed(1)} s.`);
} catch (error) {
  if (error?.code === 'ERR_MODULE_NOT_FOUND') {
    console.log('The Console is not built: its tools are development dependencies, which are not installed.');
  } else {
    console.error('The Console is not built; `npm run console:build` says more:', error?.message ?? error);
  }
}
