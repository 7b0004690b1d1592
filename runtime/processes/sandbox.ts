// Sandboxes of process plugins: kernel limits, set by prlimit, and namespaces, made by bubblewrap (bwrap).
import { execFile } from 'node:child_process';
import { mkdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { hidingArguments, type ShownDirectory } from './filtered-directories.ts';

/** Each kind includes the protection of the kind before it. */
export const sandboxKinds = ['none', 'limits', 'bwrap'] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

/** Each limit applies to every process of a plugin by itself. Only `processesMax` differs: it counts all processes of the user. */
export type Limits = {
  /** The maximum address space, used or not. */
  readonly memoryBytesMax: number;
  /** The maximum processor time, in seconds. */
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

/** The properties of a plugin that determine its command line. */
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

/**
 * The home directory of a program under bwrap. Files that the program writes there are kept. All other files that it sees are read-only, or
 * are in memory and disappear with the sandbox.
 */
const workPlace = '/work';
/** The system directories that a program under bwrap sees. On most systems some of them are symbolic links. */
const systemDirectories = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/opt'];
/** The files and directories of /etc that a program under bwrap sees. Private keys beside certificates are not among them. */
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
].map(name => `/etc/${name}`);
const probeMsMax = 10_000;

/** The command, with its arguments, that starts a plugin's program in its sandbox. For bwrap, creates a work directory below `home`. */
export function commandLine({ directory, entrypoint, instance, sandbox }: Caged, home: string): readonly string[] {
  const program = join(directory, entrypoint);
  if (sandbox === undefined) return [program];
  if (sandbox.kind === 'limits') return [...prlimit(sandbox.limits), program];
  const work = join(home, 'work', instance);
  mkdirSync(work, { recursive: true, mode: 0o700 });
  const own = { real: realpathOf(directory) ?? directory, shown: directory };
  const { before, after } = hidingArguments(sandbox.hidden ?? [], systemPlaces(), own);
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

/**
 * The beginning of a bwrap command: it unshares all namespaces, drops all capabilities, and shows only `systemDirectories` and
 * `systemFiles`, read-only, along with /proc, /dev and an empty /tmp.
 */
function bwrap(): string[] {
  return [
    ...['bwrap', '--unshare-all', '--die-with-parent', '--cap-drop', 'ALL'],
    ...systemDirectories.flatMap(systemPlace),
    ...systemFiles.flatMap(path => ['--ro-bind-try', path, path]),
    // /proc is read-only, because a process that runs as root could otherwise change kernel settings, even without capabilities.
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
  ];
}

/** The mounts and settings for a plugin. If the work directory were mounted last, it would hide a plugin directory below `workPlace`. */
function bwrapPlaces(directory: string, work: string): string[] {
  return [
    ...['--bind', work, workPlace, '--ro-bind', directory, directory],
    ...['--setenv', 'HOME', workPlace, '--setenv', 'TMPDIR', '/tmp', '--chdir', directory],
  ];
}

/** The directories of the system that a program sees, and its system files. */
function systemPlaces(): ShownDirectory[] {
  const directories = systemDirectories.flatMap(path => realpathOf(path) ?? []).map(real => ({ real, shown: real }));
  // bwrap mounts each system file at its path in `systemFiles`, even if that path is a symbolic link.
  const files = systemFiles.flatMap(shown => {
    const real = realpathOf(shown);
    return real === null ? [] : [{ real, shown }];
  });
  return [...directories, ...files];
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

/** Why this machine cannot provide the sandbox; null if it can. Tries the sandbox with the program `true`. */
export async function sandboxFault({ kind, limits, hidden = [] }: Sandbox): Promise<string | null> {
  if (limits.processesMax !== null && process.getuid?.() === 0) return 'a limit on processes has no effect for root';
  let namespaces: string[];
  try {
    namespaces = kind === 'bwrap' ? [...bwrap(), ...hidingArguments(hidden, systemPlaces(), null).after] : [];
  } catch (error) {
    return (error as Error).message;
  }
  const [file, ...words] = [...prlimit(limits), ...namespaces, 'true'];
  return new Promise(resolve => {
    execFile(file!, words, { timeout: probeMsMax, killSignal: 'SIGKILL' }, (error, _, stderr) => {
      if (error === null) resolve(null);
      else if (error.code === 'ENOENT') resolve(`${file} is not installed`);
      else if (kind === 'bwrap' && /execute bwrap/.test(stderr)) resolve('bwrap is not installed');
      else resolve(stderr.trim().split('\n')[0] || error.message);
    });
  });
}
