// Finds the place of the syntax error that keeps a worker plugin from loading.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { HostedPlugin } from '../../runtime/host/wire/plugin-host.ts';

const checkMsMax = 10_000;

/**
 * The place as `file:line:column`, relative to the plugin's directory; null if it is unknown, or if `error` is no syntax error. The error of a
 * file in TypeScript names the place. For JavaScript, Node is asked, which checks only the entrypoint.
 */
export function syntaxErrorPlace({ directory, entrypoint }: HostedPlugin, error: string): string | null {
  const [, message] = /^.* cannot be loaded: SyntaxError: (.*)/.exec(error) ?? [];
  if (message === undefined) return null;
  const named = /^(.+?:\d+:\d+): /.exec(message)?.[1];
  if (named !== undefined) return named;
  const file = join(directory, entrypoint);
  const options = { encoding: 'utf8', timeout: checkMsMax } as const;
  // Node prints `file:line`, the line, and a mark below the error.
  const [head = '', , mark = ''] = (spawnSync(process.execPath, ['--check', file], options).stderr ?? '').split('\n');
  const line = head.startsWith(`${file}:`) ? /^\d+$/.exec(head.slice(file.length + 1)) : null;
  return line === null ? null : `${entrypoint}:${line}:${mark.indexOf('^') + 1}`;
}
