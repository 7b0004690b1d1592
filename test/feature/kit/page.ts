// The blocks of a page of docs/: files, commands and what they print, in the order of the page; and a script that does as the page says.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

export type Block = { readonly language: string; readonly name: string; readonly text: string };

export function blocksOf(page: URL): Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(\w+) ?(\S*)\n([\s\S]*?)^```$/gm)].map(([, language = '', name = '', body = '']) => ({
    language,
    name,
    text: body,
  }));
}

const main = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * A bash script that writes the files of a page (blocks whose name is a path) and runs its commands (`sh` blocks without a name), as a reader
 * would. After the start of the gateway it waits until the gateway listens. The gateway listens on `address`, and is stopped with the shell.
 */
export function asScript(blocks: readonly Block[], address: string): string {
  const headgate = `headgate() { ${quoted(process.execPath)} ${quoted(main)} "$@"; }`;
  const parts = blocks.flatMap(({ language, name, text }) => {
    if (/[/.]/.test(name)) return [writing(name, text)];
    return language === 'sh' && name === '' ? [commands(text, address)] : [];
  });
  return ['set -eu', headgate, ...parts].join('\n');
}

function writing(name: string, text: string): string {
  return `mkdir -p "$(dirname ${quoted(name)})"; printf '%s' ${quoted(text)} > ${quoted(name)}`;
}

function commands(text: string, address: string): string {
  const start = 'headgate start &';
  const asked = text.split('\n').map(line => {
    if (line === start)
      return `${quoted(process.execPath)} ${quoted(main)} start &\ntrap "kill $!; wait $!" EXIT\n${waiting(address)}`;
    const listened = `$& --listen ${address}; echo 'webhooks: { listen: 127.0.0.1:0 }' >> $1/config.yaml`;
    return line.replace(/^headgate init (\S+)$/, listened);
  });
  return asked.join('\n');
}

function waiting(address: string): string {
  return `until (: < /dev/tcp/${address.replace(':', '/')}) 2> /dev/null; do sleep 0.02; done`;
}

/** An address of this machine whose port was free a moment ago. */
export async function freeAddress(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return `127.0.0.1:${port}`;
}
