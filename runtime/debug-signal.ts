// SIGUSR1, by which Node opens its debugger on a local port: whoever reaches the port may run code in the process.

/** From now on the signal does nothing. For the main thread of a process. */
export function ignoreDebugSignal(): void {
  process.on('SIGUSR1', () => {});
}
