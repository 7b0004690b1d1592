// The version of this build, from package.json.
import { createRequire } from 'node:module';

// The package is found by its own name, which works from the sources and from dist/.
export const version: string = createRequire(import.meta.url)('headgate/package.json').version;
