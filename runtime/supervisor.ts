// Starts the parts of the service in the order of a table (`tree`), and stops them in reverse order. When a part dies, the table decides
// whether the part is restarted or the service ends.

/** The pause before a part that has died is restarted. */
export const patienceMs = 250;

/**
 * A running part. `died` resolves with the reason if the part ends by itself. After a call of `stop`, `died` may also resolve if the part is one
 * that is restarted (`Child.restarts`); the supervisor then ignores it.
 */
export type Running = {
  readonly died: Promise<Error>;
  stop(): Promise<void>;
};

export type Child = {
  readonly name: string;
  start(): Promise<Running>;
  /** True: only this part is restarted, however often it dies; the other parts can work without it. False: its death ends the service. */
  readonly restarts: boolean;
  /**
   * When the service stops, a part that is still starting may take this long to finish its start. Then it may take this long again to stop.
   */
  readonly stopMsMax: number;
};

export type Supervisor = {
  /**
   * Starts all parts, and resolves when all are up. If the parts are stopped before that, resolves when all have stopped. If a part cannot
   * start, stops the others and rejects.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
};

export type SupervisorOptions = {
  readonly tree: readonly Child[];
  readonly onDeath: (child: string, reason: Error) => void;
  /** Called after the death of a part that is not restarted, when all parts have been stopped, and before `stop` resolves. */
  readonly onGiveUp: (child: string, reason: Error) => void;
};

export function supervise({ tree, onDeath, onGiveUp }: SupervisorOptions): Supervisor {
  const running: { child: Child; part: Running }[] = [];
  const starting = new Set<{ child: Child; started: Promise<void> }>();
  let stopping: Promise<void> | null = null;
  /** The first death of a part that is not restarted. */
  let loss: { readonly child: string; readonly reason: Error } | null = null;

  async function startChild(child: Child, place: number): Promise<void> {
    const started = child.start().then(part => {
      running[place] = { child, part };
      void part.died.then(reason => mourn(child, place, reason));
    });
    const start = { child, started };
    starting.add(start);
    await started.finally(() => starting.delete(start));
  }

  async function mourn(child: Child, place: number, reason: Error): Promise<void> {
    if (stopping && child.restarts) return;
    onDeath(child.name, reason);
    if (!child.restarts) {
      loss ??= { child: child.name, reason };
      return stop();
    }
    await new Promise(resolve => void setTimeout(resolve, patienceMs).unref());
    if (stopping) return;
    try {
      await startChild(child, place);
    } catch (error) {
      await mourn(child, place, error as Error);
    }
  }

  function stop(): Promise<void> {
    stopping ??= stopAll();
    return stopping;
  }

  /**
   * Stops all parts, but first waits for the parts that are still starting, because the process aborts if it exits while a thread loads
   * native code.
   */
  async function stopAll(): Promise<void> {
    await Promise.all([...starting].map(({ child, started }) => within(child.stopMsMax, started)));
    for (const { child, part } of running.toReversed()) await within(child.stopMsMax, part.stop());
    if (loss !== null) onGiveUp(loss.child, loss.reason);
  }

  return {
    async start() {
      for (const [place, child] of tree.entries()) {
        try {
          await startChild(child, place);
        } catch (error) {
          await stop();
          throw error;
        }
        // A part that is not restarted has died, or `stop` was called.
        if (stopping !== null) return stopping;
      }
    },
    stop,
  };
}

/** Waits for the work to end, but no longer than `ms`. Work that fails has ended, too. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}
