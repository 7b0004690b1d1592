// Starts the parts of the service in the order of one table, stops them in reverse, and starts again what dies.

/** The pause before a part is started again. */
export const patienceMs = 250;

/** A running part. `died` resolves with the reason when it ends by itself; it never resolves after `stop`. */
export type Running = {
  readonly died: Promise<Error>;
  stop(): Promise<void>;
};

/** One line of the table. */
export type Child = {
  readonly name: string;
  start(): Promise<Running>;
  /** Whether it alone is started again, however often it dies: the others can do without it. If not, its death ends the service. */
  readonly restarts: boolean;
  /** A part that has not stopped by then is left behind. */
  readonly stopMsMax: number;
};

export type Supervisor = {
  /** Resolves when all are up; rejects, with the others stopped again, when one cannot start. */
  start(): Promise<void>;
  /** Stops all, in reverse order. */
  stop(): Promise<void>;
};

export type SupervisorOptions = {
  readonly tree: readonly Child[];
  readonly onDeath: (child: string, reason: Error) => void;
  /** Nothing more can be done: everything has been stopped. */
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

/** Waits for the promise, but not longer. A refusal to stop is a death like another. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}
