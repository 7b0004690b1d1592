// Starts the parts of the service in the order of one table, stops them in reverse, and restarts those that die.

/** The pause before a restart. */
export const patienceMs = 250;

/** A running part. `died` resolves with the reason when it ends by itself; it never resolves after `stop`. */
export type Running = {
  readonly died: Promise<Error>;
  stop(): Promise<void>;
};

/** A line of the table. */
export type Child = {
  readonly name: string;
  start(): Promise<Running>;
  /**
   * True: it is restarted on its own, however often it dies, because the others can work without it. False: its death ends the service.
   */
  readonly restarts: boolean;
  /** A part that has not stopped within this time is abandoned. */
  readonly stopMsMax: number;
};

export type Supervisor = {
  /** Resolves when all parts are up. If one cannot start, stops the others and rejects. */
  start(): Promise<void>;
  /** Stops all, in reverse order. */
  stop(): Promise<void>;
};

export type SupervisorOptions = {
  readonly tree: readonly Child[];
  readonly onDeath: (child: string, reason: Error) => void;
  /** Called when the service cannot continue, after everything has been stopped. */
  readonly onGiveUp: (child: string, reason: Error) => void;
};

export function supervise({ tree, onDeath, onGiveUp }: SupervisorOptions): Supervisor {
  const running: { child: Child; part: Running }[] = [];
  let stopping: Promise<void> | null = null;

  async function startChild(child: Child, place: number): Promise<void> {
    const part = await child.start();
    running[place] = { child, part };
    void part.died.then(reason => mourn(child, place, reason));
  }

  async function mourn(child: Child, place: number, reason: Error): Promise<void> {
    if (stopping) return;
    onDeath(child.name, reason);
    if (!child.restarts) {
      await stop();
      onGiveUp(child.name, reason);
      return;
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

  async function stopAll(): Promise<void> {
    for (const { child, part } of running.toReversed()) await within(child.stopMsMax, part.stop());
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
      }
    },
    stop,
  };
}

/** Waits for the promise, but no longer than this. A failure to stop counts as a death. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}
