// Runs the commands of a page of docs/ in a shell that has the command `headgate`, address and token of a gateway.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { everythingToken } from '../../service/gateway/configuration.ts';
import type { Gateway } from '../../service/gateway/gateway.ts';

const bash = promisify(execFile);

/** Resolves with what the commands print on stdout. The address that pages use stands for that of the gateway. */
export async function runInShell(gateway: Gateway, text: string): Promise<string> {
  const folder = join(gateway.directory, 'shell');
  mkdirSync(folder, { recursive: true });
  const main = resolve('dist/cli/main.js');
  writeFileSync(join(folder, 'headgate'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(join(folder, 'headgate'), 0o755);
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env['PATH']}`,
    HEADGATE_URL: gateway.url,
    HEADGATE_TOKEN: everythingToken,
  };
  const words = text.replaceAll('http://127.0.0.1:8080', gateway.url);
  return (await bash('bash', ['-e', '-c', words], { cwd: folder, env })).stdout;
}
