// Data of the API that the page shows. They are fetched again after events, and stay in view until the new data have arrived.
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Refusal, request } from './api.ts';
import { connection, onEvent } from './live.ts';
import { session } from './session.ts';

export type Resource<T> = {
  readonly data: T | undefined;
  /** The path from which `data` was fetched. After a change of the path, this is the old path until the new data have arrived. */
  readonly of: string | null;
  readonly error: Refusal | undefined;
  /** Whether a request is under way. */
  readonly loading: boolean;
  /** Fetches now, even while the page is frozen. */
  reload(): void;
};
export type ResourceOptions = {
  /** Types of events after which the resource is fetched again, at most once a second. */
  readonly live?: readonly string[];
  /** Fetches again after this time, whether or not events arrive. */
  readonly everyMs?: number;
};

/** How often a live resource is fetched if the page has no stream of events. */
const withoutStreamMs = 5_000;
const againMsMin = 1_000;
const retryMsMax = 15_000;

let freezes = 0;
/** Whether the user has stopped updates. */
export const held = signal(false);

/** Stops updates, for example while a dialog is open. Returns the function that ends this stop. Updates resume when all stops have ended. */
export function freeze(): () => void {
  let isReleased = false;
  freezes++;
  return () => {
    if (!isReleased) freezes--;
    isReleased = true;
  };
}

/** Updates wait while the tab is hidden, text is selected, an editor or dialog is open, or the user has stopped them. */
export function isFrozen(): boolean {
  if (freezes > 0 || held.value || document.hidden) return true;
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.toString() !== '';
}

/** The value or, while updates wait (`isFrozen`), its last value before that. For values that decide which path is fetched. */
export function useUnfrozen<T>(value: T): T {
  const last = useRef(value);
  if (!isFrozen()) last.current = value;
  return last.current;
}

/** Fetches one path, and again when it is stale. Only the newest request counts. */
class Fetching<T> {
  readonly state = signal<Omit<Resource<T>, 'reload'>>({ data: undefined, of: null, error: undefined, loading: false });
  #path: string | null = null;
  #running: AbortController | null = null;
  /** When the last request began, by `performance.now()`: setting the system's clock does not change it. */
  #startedMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #isStale = false;

  /** Fetches this path from now on. `isOther`: more than the query of the path has changed, so the old data are dropped. */
  open(path: string | null, isOther: boolean): void {
    this.#path = path;
    this.#failures = 0;
    if (isOther || path === null) this.state.value = { data: undefined, of: null, error: undefined, loading: false };
    if (path === null) this.#running?.abort();
    else this.reload();
  }

  close(): void {
    this.#path = null;
    this.#running?.abort();
  }

  stale(): void {
    this.#isStale = true;
    this.tick(undefined);
  }

  /** Fetches again if something has changed or `everyMs` is over, at most once a second. */
  tick(everyMs: number | undefined): void {
    if (this.#path === null || this.#running !== null || isFrozen()) return;
    const age = performance.now() - this.#startedMs;
    // A failed request is repeated after growing pauses, but only if there was no answer or the status is 5xx.
    const { error } = this.state.peek();
    const mayRetry = error !== undefined && (error.status === 0 || error.status >= 500);
    const retryMs = Math.min(againMsMin * 2 ** this.#failures, retryMsMax);
    const isDue = everyMs !== undefined && age >= everyMs;
    if (error === undefined ? (this.#isStale || isDue) && age >= againMsMin : mayRetry && age >= retryMs) this.reload();
  }

  reload(): void {
    if (this.#path !== null && session.peek() !== null) void this.#fetch(this.#path);
  }

  async #fetch(path: string): Promise<void> {
    this.#running?.abort();
    const running = new AbortController();
    this.#running = running;
    this.#startedMs = performance.now();
    this.#isStale = false;
    this.state.value = { ...this.state.peek(), loading: true };
    try {
      const data = await request<T>('GET', path, undefined, running.signal);
      if (this.#running !== running) return;
      this.#failures = 0;
      this.state.value = { data, of: path, error: undefined, loading: false };
    } catch (error) {
      if (this.#running !== running || running.signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      this.#failures++;
      this.state.value = { ...this.state.peek(), error, loading: false };
    } finally {
      if (this.#running === running) this.#running = null;
    }
  }
}

/**
 * Fetches a path of the API; null: nothing. If only the query of the path changes, the old data stay until the new data have arrived.
 */
export function useResource<T>(path: string | null, { live, everyMs }: ResourceOptions = {}): Resource<T> {
  const [fetching] = useState(() => new Fetching<T>());
  const base = path === null ? null : path.split('?', 1)[0]!;
  const [last] = useState<{ base: string | null }>(() => ({ base: null }));
  useEffect(() => {
    fetching.open(path, base !== last.base);
    last.base = base;
  }, [path]);
  useEffect(() => () => fetching.close(), []);
  const types = live?.join(',') ?? '';
  useEffect(() => (types === '' ? undefined : onEvent(types.split(','), () => fetching.stale())), [types]);
  useEffect(() => {
    const timer = setInterval(() => {
      const polled = types !== '' && connection.value !== 'live' ? withoutStreamMs : undefined;
      fetching.tick(everyMs ?? polled);
    }, 250);
    return () => clearInterval(timer);
  }, [types, everyMs]);
  const { data, of, error, loading } = fetching.state.value;
  // While the service does not answer, the page keeps its data, and only the navigation shows the problem.
  const isHidden = data !== undefined && error?.status === 0;
  return { data, of, error: isHidden ? undefined : error, loading, reload: () => fetching.reload() };
}
