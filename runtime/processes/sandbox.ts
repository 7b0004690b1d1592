// Sandboxes of process plugins: kernel limits set by prlimit, and namespaces made by bubblewrap.
import { execFile } from 'node:child_process';
import { mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Each includes the one before it. */
export const sandboxKinds = ['none', 'limits', 'bwrap'] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

/** Limits of one process, except for `processesMax`, which counts all processes of the user. */
export type Limits = {
  /** Address space, used or not. */
  readonly memoryBytesMax: number;
  /** Seconds of processor time. */
  readonly cpuSMax: number;
  readonly fileBytesMax: number;
  readonly openFilesMax: number;
  /** Null: no limit. */
  readonly processesMax: number | null;
};

export type Sandbox = {
  readonly kind: Exclude<SandboxKind, 'none'>;
  readonly limits: Limits;
  /** Files and directories that bubblewrap hides. */
  readonly hidden?: readonly string[];
};

/** The parts of a plugin that determine its command line. */
type Caged = {
  readonly instance: string;
  readonly directory: string;
  readonly entrypoint: string;
  readonly sandbox?: Sandbox;
};

export const limitsDefault: Limits = {
  memoryBytesMax: 2 * 2 ** 30,
  cpuSMax: 3600,
  fileBytesMax: 2 ** 30,
  openFilesMax: 1024,
  processesMax: null,
};

/** The home of a program in a sandbox: it may write only there and in its own /tmp. */
const workPlace = '/work';
/** System directories; symbolic links on most systems. */
const systemDirectories = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/opt'];
/** The files of /etc that libraries read; not the private keys beside the certificates. */
const systemFiles = [
  'alternatives',
  'ca-certificates',
  'group',
  'hosts',
  'ld.so.cache',
  'localtime',
  'nsswitch.conf',
  'passwd',
  'pki/ca-trust',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'ssl/certs',
  'ssl/openssl.cnf',
];
const probeMsMax = 10_000;

/** The command that starts a plugin in its sandbox, with arguments. Creates its work directory below `home`. */
export function commandLine({ directory, entrypoint, instance, sandbox }: Caged, home: string): readonly string[] {
  const program = join(directory, entrypoint);
  if (sandbox === undefined) return [program];
  if (sandbox.kind === 'limits') return [...prlimit(sandbox.limits), program];
  const work = join(home, 'work', instance);
  mkdirSync(work, { recursive: true, mode: 0o700 });
  const { before, after } = shadows(sandbox.hidden ?? [], directory);
  return [...prlimit(sandbox.limits), ...bwrap(), ...before, ...bwrapPlaces(directory, work), ...after, program];
}

function prlimit({ memoryBytesMax, cpuSMax, fileBytesMax, openFilesMax, processesMax }: Limits): string[] {
  const processes = processesMax === null ? [] : [`--nproc=${processesMax}`];
  return [
    'prlimit',
    `--as=${memoryBytesMax}`,
    `--cpu=${cpuSMax}:${cpuSMax + 1}`,
    `--fsize=${fileBytesMax}`,
    `--nofile=${openFilesMax}`,
    '--core=0',
    ...processes,
    '--',
  ];
}

/** Unshares all namespaces, drops all capabilities, and mounts a read-only system without other files. */
function bwrap(): string[] {
  return [
    ...['bwrap', '--unshare-all', '--die-with-parent', '--cap-drop', 'ALL'],
    ...systemDirectories.flatMap(systemPlace),
    ...systemFiles.flatMap(name => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    // /proc is read-only: a process with the id of root could change kernel settings there, even without capabilities.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
  ];
}

/** The home directory is mounted first, because it would hide a plugin directory below it. */
function bwrapPlaces(directory: string, work: string): string[] {
  return [
    ...['--bind', work, workPlace, '--ro-bind', directory, directory],
    ...['--setenv', 'HOME', workPlace, '--setenv', 'TMPDIR', '/tmp', '--chdir', directory],
  ];
}

/**
 * Mounts empty directories and unreadable files over hidden paths that would be visible: those in system directories, and those in the
 * plugin's directory. What contains the plugin is covered first, because the plugin's directory is bound over it.
 */
function shadows(hidden: readonly string[], directory: string | null): { before: string[]; after: string[] } {
  const own = directory === null ? null : realpathOf(directory);
  const seen = [...systemDirectories.flatMap(path => realpathOf(path) ?? []), ...(own === null ? [] : [own])];
  const paths = new Set(hidden.flatMap(name => realpathOf(name) ?? []));
  const covered: string[] = [];
  const before: string[] = [];
  const after: string[] = [];
  // Outer directories come first.
  for (const path of [...paths].sort()) {
    const isOwn = own !== null && isBelow(path, own);
    const isCovered = covered.some(place => isBelow(path, place) && !(isOwn && !isBelow(place, own)));
    if (isCovered || !seen.some(place => isBelow(path, place))) continue;
    if (!statSync(path).isDirectory()) {
      after.push('--ro-bind', '/dev/null', path);
      continue;
    }
    covered.push(path);
    if (own !== null && (path === own || isBelow(own, path))) before.push('--tmpfs', path);
    else after.push('--tmpfs', path, '--remount-ro', path);
  }
  return { before, after };
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

/** The path with links resolved; null if there is no such file. */
function realpathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

function systemPlace(path: string): string[] {
  try {
    return ['--symlink', readlinkSync(path), path];
  } catch {
    return ['--ro-bind-try', path, path];
  }
}

/** Why this machine cannot provide the sandbox, or null if it can. Tries it with a program that does nothing. */
export async function sandboxFault({ kind, limits, hidden = [] }: Sandbox): Promise<string | null> {
  if (limits.processesMax !== null && process.getuid?.() === 0) return 'a limit on processes has no effect for root';
  const [file, ...words] = [
    ...prlimit(limits),
    ...(kind === 'bwrap' ? [...bwrap(), ...shadows(hidden, null).after] : []),
    'true',
  ];
  return new Promise(resolve => {
    execFile(file!, words, { timeout: probeMsMax, killSignal: 'SIGKILL' }, (error, _, stderr) => {
      if (error === null) resolve(null);
      else if (error.code === 'ENOENT') resolve(`${file} is not installed`);
      else if (kind === 'bwrap' && /execute bwrap/.test(stderr)) resolve('bwrap is not installed');
      else resolve(stderr.trim().split('\n')[0] || error.message);
    });
  });
}
