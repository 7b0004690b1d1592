// SIGUSR1 makes Node open its debugger on a local port, through which anyone who can reach it may run code in the process.

/** Ignores the signal from now on. Must be called on the main thread of a process. */
export function ignoreDebugSignal(): void {
  process.on('SIGUSR1', () => {});
}
