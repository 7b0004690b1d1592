// SIGUSR1 makes Node open its debugger on a local port. Anyone who can reach this port can run code in the process.

/** Makes the process ignore SIGUSR1. Must be called on the main thread. */
export function ignoreDebugSignal(): void {
  process.on('SIGUSR1', () => {});
}
