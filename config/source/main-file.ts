// Finds the main configuration file.
import { join, resolve } from 'node:path';
import type { Files } from './files.ts';
import type { Environment } from './interpolation.ts';

export type MainFile =
  | { readonly ok: true; readonly file: string }
  /** `problem` is one line. It begins with the location if `--config` or the environment names the file. */
  | { readonly ok: false; readonly problem: string };

const mainName = 'config.yaml';

/**
 * Finds the file that `--config`, or else `$HEADGATE_CONFIG`, names; for a directory, its config.yaml. A missing file
 * is a problem. If neither is given, finds the first existing file of `./config.yaml`,
 * `$XDG_CONFIG_HOME/headgate/config.yaml` and `/etc/headgate/config.yaml`. `$XDG_CONFIG_HOME` is `~/.config` by
 * default.
 */
export function findMainFile(path: string | undefined, env: Environment, cwd: string, files: Files): MainFile {
  const given = path ?? (env['HEADGATE_CONFIG'] || undefined);
  if (given !== undefined)
    return openGiven(resolve(cwd, given), path === undefined ? '$HEADGATE_CONFIG' : '--config', files);
  const candidates = usualPlaces(env, cwd);
  const found = candidates.find(file => files.kind(file) === 'file');
  if (found !== undefined) return { ok: true, file: found };
  const problem = `no configuration found: looked for ${candidates.join(', ')}; name one with --config, or create one with "headgate init DIR"`;
  return { ok: false, problem };
}

function openGiven(path: string, source: string, files: Files): MainFile {
  const kind = files.kind(path);
  const file = kind === 'directory' ? join(path, mainName) : path;
  if (kind === 'file' || (kind === 'directory' && files.kind(file) === 'file')) return { ok: true, file };
  const wanted =
    kind === 'directory' ? `a directory with a ${mainName} in it` : `a file, or a directory with a ${mainName}`;
  const wrong = kind === 'other' ? 'is not a file' : 'does not exist';
  return { ok: false, problem: `${file}:1:1: ${wrong}; ${source} must name ${wanted}` };
}

function usualPlaces(env: Environment, cwd: string): string[] {
  const home = env['XDG_CONFIG_HOME'] || (env['HOME'] ? join(env['HOME'], '.config') : '');
  const places = [join(cwd, mainName)];
  if (home !== '') places.push(join(resolve(cwd, home), 'headgate', mainName));
  return [...places, join('/etc/headgate', mainName)];
}
