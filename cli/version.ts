// The version of this build, and the directory of its package.
import { createRequire } from 'node:module';
import { dirname } from 'node:path';

// The package is found by its own name, which works from the sources and from dist/.
const require = createRequire(import.meta.url);
export const version: string = require('headgate/package.json').version;
export const installation = dirname(require.resolve('headgate/package.json'));
