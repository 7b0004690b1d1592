// Shows the overview on the whole terminal: requests it at intervals, and reacts to keys.
import { isUnavailable } from '../failure.ts';
import { type LaneOrder, type OverviewParts, overviewParts, sortedLanes } from '../terminal/overview.ts';
import { Screen } from '../terminal/screen.ts';
import { dim, type TerminalLine } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';
import type { Client } from './client.ts';
import type { ClientCall } from './connect.ts';
import { fetchOverview, type OverviewDocument, settledPerSecond } from './overview.ts';

type Shown = { readonly intervalMs: number; readonly order: LaneOrder };

const orderKeys: { readonly [key: string]: LaneOrder } = {
  n: 'name',
  d: 'depth',
  r: 'running',
  o: 'oldest',
  t: 'time',
};

/** The number of lanes by which each key scrolls: the arrow keys, `k` and `j`, and the page keys. */
const scrollKeys: { readonly [key: string]: number } = {
  k: -1,
  j: 1,
  '\u001b[A': -1,
  '\u001b[B': 1,
  '\u001bOA': -1,
  '\u001bOB': 1,
  '\u001b[5~': -10,
  '\u001b[6~': 10,
};
const quitKeys: readonly string[] = ['q', 'Q', '\u0003'];
const pauseKeys: readonly string[] = ['p', 'P', ' '];
const clearKey = '\u000c';

const footer: TerminalLine = [dim('q quit  p pause  sort: d depth n name r running o oldest t time  ↑↓ scroll')];

/** Replaces the footer while requests fail. */
function lostLine(why: string): TerminalLine {
  return [{ text: `no answer, trying again: ${why}`, style: 'red' }];
}

/** Shows the overview until it is closed: resolves with the signal that asked the process to end, or null if the user quit or the terminal is gone. */
export async function showLive(
  { client, io, out }: Pick<ClientCall, 'client' | 'io' | 'out'>,
  shown: Shown,
): Promise<NodeJS.Signals | null> {
  // The first answer is awaited before the screen opens, so that a failure is printed as in any other command.
  const live = new LiveOverview(client, shown, await fetchOverview(client));
  const screen = new Screen(io, out.hasColours);
  try {
    for (;;) {
      live.ask(() => screen.wake());
      screen.draw(live.lines(screen.rows));
      for (const event of await screen.next(live.restMs)) {
        if (event.kind === 'ended') return event.signal;
        if (event.kind !== 'key') continue;
        if (quitKeys.includes(event.key)) return null;
        if (event.key === clearKey) screen.clear();
        live.press(event.key);
      }
    }
  } finally {
    live.close();
    screen.close();
  }
}

class LiveOverview {
  readonly #client: Client;
  readonly #intervalMs: number;
  readonly #closing = new AbortController();
  #overview: OverviewDocument;
  #perSecond: number | null = null;
  #order: LaneOrder;
  #isReversed = false;
  #isPaused = false;
  #isAsking = false;
  #askedMs = performance.now();
  /** The number of lanes above the first visible lane. */
  #scrolled = 0;
  /** Why the service was unavailable for the last request. Null: the request was answered. */
  #lost: string | null = null;
  /** The failure of the last request, if asking again cannot help. */
  #failure: unknown = null;

  constructor(client: Client, { intervalMs, order }: Shown, first: OverviewDocument) {
    this.#client = client;
    this.#intervalMs = intervalMs;
    this.#order = order;
    this.#overview = first;
  }

  /** How long to wait before the next call of `ask`, in ms. */
  get restMs(): number {
    return Math.max(0, this.#askedMs + this.#intervalMs - performance.now()) || this.#intervalMs;
  }

  /**
   * Requests the next overview if it is due, unless the display is paused. `onNews` is called when the request ends.
   * Throws the error of the last request if asking again cannot help.
   */
  ask(onNews: () => void): void {
    if (this.#failure !== null) throw this.#failure;
    const nowMs = performance.now();
    if (this.#isAsking || this.#isPaused || nowMs < this.#askedMs + this.#intervalMs) return;
    this.#isAsking = true;
    this.#askedMs = nowMs;
    void fetchOverview(this.#client, this.#closing.signal)
      .then(
        overview => this.#take(overview),
        error => this.#failed(error),
      )
      .finally(() => {
        this.#isAsking = false;
        onNews();
      });
  }

  #take(overview: OverviewDocument): void {
    this.#lost = null;
    // The user may have paused the display while the request was pending.
    if (this.#isPaused) return;
    this.#perSecond = settledPerSecond(this.#overview, overview);
    this.#overview = overview;
  }

  #failed(error: unknown): void {
    if (isUnavailable(error)) this.#lost = error.message;
    else if (!this.#closing.signal.aborted) this.#failure = error;
  }

  press(key: string): void {
    const order = Object.hasOwn(orderKeys, key) ? orderKeys[key]! : null;
    if (pauseKeys.includes(key)) {
      this.#isPaused = !this.#isPaused;
      this.#askedMs = Number.NEGATIVE_INFINITY;
    } else if (order !== null) {
      this.#isReversed = order === this.#order && !this.#isReversed;
      this.#order = order;
      this.#scrolled = 0;
    } else if (Object.hasOwn(scrollKeys, key)) {
      const most = this.#overview.lanes.length - 1;
      this.#scrolled = Math.max(0, Math.min(most, this.#scrolled + scrollKeys[key]!));
    }
  }

  lines(rows: number): TerminalLine[] {
    const lanes = sortedLanes(this.#overview.lanes, this.#order, this.#isReversed).slice(this.#scrolled);
    const parts = overviewParts(this.#overview, lanes, this.#perSecond);
    return [this.#title(), ...fitted(parts, rows - 2), this.#lost === null ? footer : lostLine(this.#lost)];
  }

  #title(): TerminalLine {
    const order = `  by ${this.#order}${this.#isReversed ? ', reversed' : ''}`;
    return [
      { text: `headgate at ${this.#client.url}`, style: 'bold' },
      this.#isPaused ? { text: '  the display is paused', style: 'yellow' } : '',
      dim(`  ${formatAt(this.#overview.captured_at).slice(0, 19)} UTC${order}`),
    ];
  }

  /** Aborts the pending request. */
  close(): void {
    this.#closing.abort();
  }
}

/** The lines that fit into `rows`: the head, then lanes, and at the bottom the newest failures. */
export function fitted({ head, lanes, failures }: OverviewParts, rows: number): TerminalLine[] {
  const room = Math.max(0, rows - head.length);
  const wanted = failures.length === 0 ? 0 : failures.length + 1;
  // Lanes have priority, but failures may take a third of the room. Failures are shown only if an empty line, their heading and one failure fit.
  const given = Math.min(wanted, Math.max(room - lanes.length - 1, Math.floor(room / 3)));
  const ofFailures = given < 3 ? 0 : given;
  const ofLanes = room - ofFailures - 1;
  const hidden = lanes.length - ofLanes;
  const shown = hidden <= 0 ? lanes : [...lanes.slice(0, Math.max(0, ofLanes - 1)), `… ${hidden + 1} more`];
  const below = ofFailures === 0 ? [] : ['', ...failures.slice(0, ofFailures - 1)];
  return [...head, '', ...shown, ...below].slice(0, Math.max(0, rows));
}
