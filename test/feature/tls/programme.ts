// The command in a process of its own: what a process trusts is fixed at its start.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

export function ended(words: readonly string[], environment: { readonly [name: string]: string }) {
  return new Promise<{ readonly status: number | null; readonly said: string }>(resolve => {
    const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env;
    const env = { ...inherited, ...environment };
    const child = spawn(process.execPath, ['dist/cli/main.js', ...words], { cwd: root, env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (said += text));
    child.on('close', status => resolve({ status, said }));
  });
}
