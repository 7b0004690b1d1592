// The thread for reads: it only looks at the store, and may die and begin again at any moment.
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { type Findings, selfcheck } from '../../actors/job/views/selfcheck.ts';
import type { LoadOptions } from '../../config/load.ts';
import { openLink } from '../../runtime/link.ts';
import { givenData } from '../../runtime/preloaded-thread.ts';
import { Slices } from '../../runtime/slices.ts';
import { withSourceNames } from '../../runtime/source-names.ts';
import { IndexReaders } from '../../runtime/store/index-readers.ts';
import { openReader } from '../../runtime/store/lmdb.ts';
import type { ReplyTo } from '../../runtime/turn.ts';
import { type AskedSandbox, trySandboxes } from '../doctor/sandboxes.ts';
import { openAnswers } from './answers.ts';
import { type Inspection, inspect } from './inspection.ts';
import type { Read } from './reads.ts';
import { Desk } from './reads-under-way.ts';

/** What the thread is given at its start: the directory of the state. */
export type ReadsData = { readonly path: string };

/** What it is asked and told; `begin` and `more` are answered by a chunk. */
export type ReadsMessage =
  | { readonly kind: 'begin'; readonly id: number; readonly read: Read; readonly replyTo: ReplyTo }
  | { readonly kind: 'more'; readonly id: number; readonly replyTo: ReplyTo }
  | { readonly kind: 'drop'; readonly id: number }
  | { readonly kind: 'selfcheck'; readonly replyTo: ReplyTo }
  | { readonly kind: 'try_sandboxes'; readonly asked: readonly AskedSandbox[]; readonly replyTo: ReplyTo }
  | { readonly kind: 'inspect'; readonly options: Omit<LoadOptions, 'env'>; readonly replyTo: ReplyTo };

/** What selfcheck and inspection are answered with. */
export type Outcome<T> = { readonly value: T } | { readonly fault: string };

/** Below the threads that accept and answer, above the indexer. */
const niceness = 5;

function run({ path }: ReadsData): void {
  yieldToOthers();
  const reader = openReader(path);
  const indexes = new IndexReaders(path);
  const refresh = (): void => {
    reader.refresh();
    indexes.refresh();
  };
  const slices = new Slices(refresh);
  const desk = new Desk(slices, openAnswers({ reader, index: () => indexes.current() }));
  const link = openLink({
    thread: 'reads',
    port: parentPort!,
    // What a turn of slices has finished goes at once, before the next turn.
    schedule: queueMicrotask,
    onTold: (_, message) => take(message as ReadsMessage),
  });

  function take(message: ReadsMessage): void {
    if (message.kind === 'drop') desk.drop(message.id);
    else void answer(message).then(value => link.reply(message.replyTo, value));
  }

  function answer(message: Exclude<ReadsMessage, { kind: 'drop' }>): Promise<unknown> {
    switch (message.kind) {
      case 'begin':
        if (desk.isIdle) indexes.closeGone();
        return desk.begin(message.id, message.read);
      case 'more':
        return desk.more(message.id);
      case 'selfcheck':
        return outcome(check);
      case 'try_sandboxes':
        return outcome(() => trySandboxes(message.asked));
      case 'inspect':
        return outcome((): Promise<Inspection> => inspect(message.options));
    }
  }

  async function check(): Promise<Findings> {
    const share = slices.share();
    const askIdle = (ids: Uint8Array) => link.ask<Uint8Array | null>('ledger', { kind: 'ask_idle', ids });
    return selfcheck({ reader, askIdle, pause, run: work => share.run(work) });
  }

  link.tell('supervisor', { kind: 'ready' });
}

async function outcome<T>(act: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await act() };
  } catch (error) {
    const { stack, message } = error as Error;
    return { fault: withSourceNames(stack ?? message) };
  }
}

/** Of this thread alone, where the system has priorities of threads. */
function yieldToOthers(): void {
  try {
    if (process.platform === 'linux') setPriority(niceness);
  } catch {}
}

run(await givenData<ReadsData>());
