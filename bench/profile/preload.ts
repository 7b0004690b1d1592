// A module that every thread of the service and of its plugin hosts loads before its own code. It writes a CPU profile
// of the thread.
import childProcess, { type ChildProcess, type SpawnOptions } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';
import { pendingSuffix, profileSuffix, roleOf, signal } from './files.ts';

const intervalUs = 500;

type Spawn = (program: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

const directory = fileURLToPath(new URL(import.meta.url).searchParams.get('directory')!);
const file = join(directory, `${roleOf(process.argv[1] ?? '')}-${process.pid}-${threadId}`);
const hosts = new Set<ChildProcess>();
const siblings = new BroadcastChannel('headgate-bench-profile');
const session = new Session();

followHosts();
writeFileSync(file + pendingSuffix, '');
// A thread that ends before it is asked for its profile leaves no file, so that `endProfiles` does not wait for it.
process.once('exit', () => rmSync(file + pendingSuffix, { force: true }));
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: intervalUs });
session.post('Profiler.start');
siblings.onmessage = finish;
siblings.unref();
if (isMainThread) {
  process.once(signal, () => {
    siblings.postMessage(null);
    finish();
  });
}

/**
 * Makes hosts load this module too. They start with a clean environment and no options, so they would not load it
 * otherwise.
 */
function followHosts(): void {
  const spawn = childProcess.spawn as Spawn;
  const spawnFollowed: Spawn = (program, args, options) => {
    if (roleOf(args.find(arg => !arg.startsWith('--')) ?? '') !== 'host') return spawn(program, args, options);
    const host = spawn(program, ['--import', import.meta.url, ...args], options);
    hosts.add(host);
    host.once('exit', () => hosts.delete(host));
    return host;
  };
  childProcess.spawn = spawnFollowed as typeof childProcess.spawn;
  syncBuiltinESMExports();
}

function finish(): void {
  for (const host of hosts) host.kill(signal);
  session.post('Profiler.stop', (error, result) => {
    if (error) throw error;
    writeFileSync(file + pendingSuffix, JSON.stringify(result.profile));
    renameSync(file + pendingSuffix, file + profileSuffix);
  });
}
