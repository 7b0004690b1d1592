// A link carries messages between two threads. Messages that are sent shortly after each other travel as one packet. An ask is a message that
// the other thread answers.
import type { MessagePort } from 'node:worker_threads';
import { PacketPacker, PacketUnpacker } from './packing.ts';
import type { ReplyTo } from './turn.ts';

/** In a packet, `[actor, message]` is a message to an actor, and `[ask, value]` is the answer to the ask with the number `ask`. */
type LinkMessage = readonly [string | number, unknown];

export type Link = {
  tell(actor: string, message: object): void;
  /** Sends a message that may wait for other messages to the same thread, for at most `soonMsMax`. */
  tellSoon(actor: string, message: object): void;
  /** Sends the message with a `replyTo` added; resolves with the answer. Rejects with ThreadGone after `fail`. */
  ask<Answer>(actor: string, message: object, recall?: WithdrawnAsk<Answer>): Promise<Answer>;
  reply(to: ReplyTo, value: unknown): void;
  /** Sends the collected messages now, without waiting for the flush that `LinkOptions.schedule` arranges. */
  flush(): void;
  /** Like `flush`, but does nothing if all collected messages may still wait. */
  flushDue(): void;
  /** Fails every unanswered and every later ask with ThreadGone. */
  fail(cause: Error): void;
};

/** The maximum time that a message of `tellSoon` waits for other messages. The wait avoids waking an idle thread for each message. */
export const soonMsMax = 10;

/** The thread at the other end of the link has ended and will not answer. */
export class ThreadGone extends Error {
  readonly code = 'thread_gone';
}

export type PendingAsk = {
  /** Whether the caller has left and no longer waits for the answer. */
  readonly isGone: boolean;
};

/**
 * Makes an ask withdrawable: if `asker` has left when the message is about to be sent, the message is dropped, and the ask resolves with
 * `answer`.
 */
export type WithdrawnAsk<Answer> = { readonly asker: PendingAsk; readonly answer: Answer };

export type LinkOptions = {
  readonly port: Pick<MessagePort, 'postMessage' | 'on'>;
  readonly onMessage: (actor: string, message: unknown) => void;
  /**
   * Arranges that `flush` is called soon. With `setImmediate`, the messages of one poll of the sockets share a packet. Absent: messages
   * wait for `flush`, `flushDue` or the timer of `tellSoon`.
   */
  readonly schedule?: (flush: () => void) => void;
};

export function openLink({ port, onMessage, schedule }: LinkOptions): Link {
  let gathered: LinkMessage[] = [];
  /** The collected messages that can be withdrawn. */
  let recalls: { readonly sent: LinkMessage; readonly ask: number; readonly recall: WithdrawnAsk<unknown> }[] = [];
  const packer = new PacketPacker();
  const unpacker = new PacketUnpacker();
  /** Whether any collected message must be sent without waiting for others. */
  let isDue = false;
  let isTimed = false;
  let asks = 0;
  let broken: Error | null = null;
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();

  function put(message: LinkMessage): void {
    gathered.push(message);
    if (isDue) return;
    isDue = true;
    schedule?.(flush);
  }

  function putSoon(message: LinkMessage): void {
    gathered.push(message);
    if (isTimed) return;
    isTimed = true;
    const onTime = (): void => {
      isTimed = false;
      flush();
    };
    setTimeout(onTime, soonMsMax).unref();
  }

  function withdraw(): void {
    for (const { sent, ask, recall } of recalls) {
      if (!recall.asker.isGone) continue;
      gathered.splice(gathered.indexOf(sent), 1);
      answer(ask, recall.answer);
    }
    recalls = [];
  }

  function answer(ask: number, value: unknown): void {
    const asker = waiting.get(ask);
    waiting.delete(ask);
    asker?.resolve(value as never);
  }

  function flush(): void {
    isDue = false;
    if (recalls.length > 0) withdraw();
    if (gathered.length === 0) return;
    const messages = gathered;
    gathered = [];
    const packed = packer.pack(messages);
    // Copies the packet into memory of exactly its size, which is then transferred to the other thread.
    const bytes = new Uint8Array(packed.length);
    bytes.set(packed);
    port.postMessage(bytes, [bytes.buffer]);
  }

  port.on('message', (bytes: Uint8Array) => {
    for (const [to, value] of unpacker.unpack<LinkMessage>(bytes)) {
      if (typeof to === 'string') onMessage(to, value);
      else answer(to, value);
    }
  });

  return {
    tell: (actor, message) => put([actor, message]),
    tellSoon: (actor, message) => putSoon([actor, message]),
    ask(actor, message, recall) {
      if (broken) return Promise.reject(broken);
      const ask = ++asks;
      const sent: LinkMessage = [actor, { ...message, replyTo: { ask } satisfies ReplyTo }];
      put(sent);
      if (recall) recalls.push({ sent, ask, recall });
      return new Promise((resolve, reject) => waiting.set(ask, { resolve, reject }));
    },
    reply: (to, value) => put([to.ask, value]),
    flush,
    flushDue() {
      if (isDue) flush();
    },
    fail(cause) {
      broken = new ThreadGone(cause.message, { cause });
      for (const { reject } of waiting.values()) reject(broken);
      waiting.clear();
    },
  };
}
