// The version of this build, from package.json.
import { createRequire } from 'node:module';

// By the package's own name: the same from the sources and from dist/.
export const version: string = createRequire(import.meta.url)('headgate/package.json').version;
