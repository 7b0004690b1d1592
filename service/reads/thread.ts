// The reads thread. It never writes to the store. It can die and be restarted at any time.
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { type Findings, selfcheck } from '../../actors/job/views/selfcheck.ts';
import type { LoadOptions } from '../../config/load.ts';
import { openLink } from '../../runtime/link.ts';
import { LoopDelay } from '../../runtime/loop-delay.ts';
import { givenData, yieldToOthers } from '../../runtime/preloaded-thread.ts';
import { Dropped, type Share, type Sliced, Slices } from '../../runtime/slices.ts';
import { withSourceNames } from '../../runtime/source-names.ts';
import { IndexReaders } from '../../runtime/store/index-readers.ts';
import { openReader } from '../../runtime/store/ledger-store.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import { type SandboxedPlugin, trySandboxes } from '../doctor/sandboxes.ts';
import { ActiveReads } from './active-reads.ts';
import { openAnswers } from './answers.ts';
import { inspect, load } from './inspection.ts';
import type { Read } from './reads.ts';
import { type Counted, type CountQuery, openSelecting, type PageQuery } from './selecting.ts';

/** The data that the thread gets on startup. `path`: the state directory. */
export type ReadsData = { readonly path: string; readonly loopDelay: SharedArrayBuffer };

/**
 * The messages to the thread. The reply to `begin` and to `more` is a chunk of the answer; null: the read was dropped. `drop` also ends a count
 * (`count_matches`), which then has the value null.
 */
export type ReadsMessage =
  | { readonly kind: 'begin'; readonly id: number; readonly read: Read; readonly replyTo: ReplyTo }
  | { readonly kind: 'more'; readonly id: number; readonly replyTo: ReplyTo }
  | { readonly kind: 'drop'; readonly id: number }
  | { readonly kind: 'selfcheck'; readonly replyTo: ReplyTo }
  | (CountQuery & { readonly replyTo: ReplyTo })
  | (PageQuery & { readonly replyTo: ReplyTo })
  | { readonly kind: 'try_sandboxes'; readonly asked: readonly SandboxedPlugin[]; readonly replyTo: ReplyTo }
  | { readonly kind: 'load'; readonly options: Omit<LoadOptions, 'env'>; readonly replyTo: ReplyTo }
  | { readonly kind: 'inspect'; readonly options: Omit<LoadOptions, 'env'>; readonly replyTo: ReplyTo };

/** The reply to every message except `begin`, `more` and `drop`. */
export type ThreadReply<T> = { readonly value: T } | { readonly fault: string };

/** The niceness of the thread: its priority is lower than that of the main and ledger threads, and higher than that of the indexer. */
const niceness = 5;

function run({ path, loopDelay }: ReadsData): void {
  yieldToOthers(niceness);
  new LoopDelay(loopDelay).measure();
  const reader = openReader(path);
  const indexes = new IndexReaders(path);
  const refresh = (): void => {
    reader.refresh();
    indexes.refresh();
  };
  const slices = new Slices(refresh);
  const selecting = openSelecting(reader, () => indexes.current());
  const activeReads = new ActiveReads(
    slices,
    openAnswers(reader, () => indexes.current()),
  );
  /** How many selections of jobs for actions are in progress. They may use a reader of the index, which then must not be closed (`closeGone`). */
  let selections = 0;
  /** The shares of the counts that are in progress, by id. */
  const counts = new Map<number, Share>();
  const link = openLink({
    port: parentPort!,
    // A microtask sends finished chunks before the next slices begin.
    schedule: queueMicrotask,
    onMessage: (_, message) => take(message as ReadsMessage),
  });

  function take(message: ReadsMessage): void {
    if (message.kind === 'drop') {
      activeReads.drop(message.id);
      counts.get(message.id)?.close();
    } else void answer(message).then(value => link.reply(message.replyTo, value));
  }

  function answer(message: Exclude<ReadsMessage, { kind: 'drop' }>): Promise<unknown> {
    switch (message.kind) {
      case 'begin':
        if (activeReads.isIdle && selections === 0) indexes.closeGone();
        return activeReads.begin(message.id, message.read);
      case 'more':
        return activeReads.more(message.id);
      case 'selfcheck':
        return outcome(check);
      case 'count_matches':
        return outcome(() => count(message));
      case 'next_matches':
        return outcome(() => select(selecting.next(message), slices.share()));
      case 'try_sandboxes':
        return outcome(() => trySandboxes(message.asked));
      case 'load':
        return outcome(() => load(message.options));
      case 'inspect':
        return outcome(() => inspect(message.options));
    }
  }

  async function count(wanted: CountQuery): Promise<Counted | null> {
    const share = slices.share();
    counts.set(wanted.id, share);
    try {
      return await select(selecting.count(wanted), share);
    } catch (error) {
      if (error instanceof Dropped) return null;
      throw error;
    } finally {
      counts.delete(wanted.id);
    }
  }

  async function select<T>(work: Sliced<T>, share: Share): Promise<T> {
    selections++;
    try {
      return await share.run(work);
    } finally {
      selections--;
    }
  }

  async function check(): Promise<Findings> {
    const share = slices.share();
    const askIdle = (ids: Uint8Array) => link.ask<Uint8Array | null>('ledger', { kind: 'ask_idle', ids });
    return selfcheck({ reader, askIdle, pause, run: work => share.run(work) });
  }

  link.tell('supervisor', { kind: 'ready' });
}

async function outcome<T>(act: () => Promise<T>): Promise<ThreadReply<T>> {
  try {
    return { value: await act() };
  } catch (error) {
    const { stack, message } = error as Error;
    return { fault: withSourceNames(stack ?? message) };
  }
}

run(await givenData<ReadsData>());
