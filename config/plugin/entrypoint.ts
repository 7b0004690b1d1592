// Reads the entrypoint of a plugin: a file that can be run, and that is inside the plugin's directory even with links resolved.
import { extname, resolve } from 'node:path';
import type { ReportAt } from '../check/problem.ts';
import type { Manifest } from '../config.ts';
import { type Files, isWithin } from '../source/files.ts';
import { type SourceNode, textOf } from '../source/tree.ts';

const workerExtensions = ['.js', '.mjs', '.ts'];

/** How a program begins that names its interpreter. */
const interpreterMark = Buffer.from('#!');

export type Entrypoint = Pick<Manifest, 'directory' | 'entrypoint' | 'runtime'>;

/**
 * The entrypoint with links resolved. Null if the manifest names none, or if the entrypoint is refused; a refusal is reported. Warns of a script
 * without an interpreter.
 */
export function readEntrypoint(
  root: SourceNode,
  directory: string,
  dialect: Manifest['dialect'],
  disk: Files,
  reportAt: ReportAt,
  warnAt: ReportAt,
): Entrypoint | null {
  const text = textOf(root, 'entrypoint');
  if (text === undefined || text === '') return null;
  const refuse = (message: string): null => {
    reportAt(['entrypoint'], message);
    return null;
  };
  const path = resolve(directory, text);
  const kind = disk.kind(path);
  if (kind === 'missing') return refuse(`${path} does not exist; it must be a file in the plugin's directory`);
  const home = disk.realpath(directory);
  const real = disk.realpath(path);
  if (!isWithin(real, home)) return refuse(`leads to ${real}; it must be inside ${home}`);
  if (kind !== 'file') return refuse(`${path} is not a file; it must be a file in the plugin's directory`);
  const given = dialect === 'ductile' ? 'process' : textOf(root, 'runtime');
  const usual = workerExtensions.includes(extname(text)) ? 'worker' : 'process';
  const runtime = given === 'worker' || given === 'process' ? given : usual;
  if (runtime === 'process' && !disk.isExecutable(real))
    return refuse(`${real} is not executable; make it executable (chmod +x)`);
  if (runtime === 'process' && isUnmarkedText(real, disk))
    warnAt(['entrypoint'], `${real} does not begin with #! and an interpreter, so sh runs it`);
  return { directory: home, entrypoint: real, runtime };
}

/** Whether a file is text that names no interpreter. Binary programs have zero bytes in their head. False if the file is empty or cannot be read. */
function isUnmarkedText(path: string, disk: Files): boolean {
  try {
    const head = disk.head(path);
    return head.length > 0 && !head.includes(0) && !interpreterMark.equals(head.subarray(0, interpreterMark.length));
  } catch {
    return false;
  }
}
