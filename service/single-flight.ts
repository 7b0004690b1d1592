/** Wraps `act`: calls that arrive while `act` is running share its result. */
export function singleFlight<T>(act: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= act().finally(() => {
      running = null;
    });
    return running;
  };
}
