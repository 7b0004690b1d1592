// The types that openapi-typescript makes of a document, as its command does.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const compiler = new URL('typescript.mjs', import.meta.url).href;
const command = 'node_modules/openapi-typescript/bin/cli.js';

export function generateTypes(document: unknown): string {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-client-'));
  try {
    const [input, output] = [join(directory, 'openapi.json'), join(directory, 'openapi.d.ts')];
    writeFileSync(input, JSON.stringify(document));
    execFileSync(process.execPath, ['--import', compiler, command, input, '--output', output], {
      cwd: root,
      stdio: 'pipe',
    });
    return readFileSync(output, 'utf8');
  } finally {
    rmSync(directory, { recursive: true });
  }
}
