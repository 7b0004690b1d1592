// The names of profile files: `<role>-<process>-<thread>` with one of these suffixes.

/** The signal on which a process stops profiling and writes the profiles of its threads, and makes its hosts do the same. */
export const signal = 'SIGUSR2';
export const profileSuffix = '.cpuprofile';
/** The suffix of the file of a thread whose profile is not written yet. */
export const pendingSuffix = '.pending';

const roles: readonly (readonly [ending: string, role: string])[] = [
  ['/dist/cli/main.js', 'main'],
  ['/dist/service/ledger/thread.js', 'ledger'],
  ['/dist/service/indexer/thread.js', 'indexer'],
  ['/dist/service/reads/thread.js', 'reads'],
  ['/dist/runtime/host/process/main.js', 'host'],
  ['/piscina/dist/worker.js', 'plugins'],
];

/** The order of threads in a table. */
export const roleOrder: readonly string[] = [...roles.map(([, role]) => role), 'other'];

/** The role of a thread, by the file that it runs. */
export function roleOf(script: string): string {
  return roles.find(([ending]) => script.endsWith(ending))?.[1] ?? 'other';
}
