// A new plugin in TypeScript. The plugin needs no package, because it contains a copy of the types of headgate, and
// types are removed when the plugin is loaded.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installation, version } from '../version.ts';
import type { NewFile } from './files.ts';

export function typescriptFiles(name: string): NewFile[] {
  const code = `// ${name}: runs in a worker thread of the plugin host. It exports one function per command of the manifest.
import type { Handler } from 'headgate/plugin';

type Payload = { readonly name: string };
type Config = { readonly greeting?: string };

export const handle: Handler<Payload, Config> = ({ event, config }, { log }) => {
  const { name } = event.payload;
  log('info', \`greeting \${name}\`);
  return { result: \`\${config.greeting ?? 'hello'} \${name}\` };
};
`;
  const settings = `// "npx -p typescript tsc -p ." checks the types. Types are removed when the plugin is loaded, and nothing else is changed:
// erasableSyntaxOnly refuses syntax that is more than a type, such as enum.
{
  "compilerOptions": {
    "strict": true,
    "noEmit": true,
    "target": "es2023",
    "lib": ["es2023", "dom", "dom.iterable"],
    // For imports of "node:fs" and the like: npm install --save-dev @types/node, and "node" here.
    "types": [],
    "module": "preserve",
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "allowImportingTsExtensions": true
  }
}
`;
  return [
    { path: 'index.ts', text: code },
    { path: 'tsconfig.json', text: settings },
    { path: 'headgate-plugin.d.ts', text: declarations() },
  ];
}

/** The content of headgate-plugin.d.ts: the types of `headgate/plugin` in this version, as a module declaration. */
function declarations(): string {
  const types = readFileSync(join(installation, 'dist/runtime/host/api/plugin-api.d.ts'), 'utf8');
  const inside = types
    .trimEnd()
    .split('\n')
    .map(line => (line === '' ? line : `  ${line}`))
    .join('\n');
  return `// The types of "headgate/plugin", copied from headgate ${version}.\ndeclare module 'headgate/plugin' {\n${inside}\n}\n`;
}
