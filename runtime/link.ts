// Two threads and the packets between them: all messages of one turn of the sender go as one.
import type { MessagePort } from 'node:worker_threads';
import { packMessages, unpackMessages } from './packing.ts';
import type { ReplyTo } from './turn.ts';

/** On the wire: `[actor, message]` tells or asks, `[ask, value]` answers. */
type Parcel = readonly [string | number, unknown];

export type Link = {
  tell(actor: string, message: object): void;
  /** The message is sent with a `replyTo`; resolves with the answer. */
  ask<Answer>(actor: string, message: object, recall?: Recall<Answer>): Promise<Answer>;
  reply(to: ReplyTo, value: unknown): void;
  /** Sends what has gathered; otherwise it goes when `schedule` says. */
  flush(): void;
  /** Every ask that has no answer yet, and every later one, fails with ThreadGone. */
  fail(cause: Error): void;
};

/** The other thread answers nothing any more. */
export class ThreadGone extends Error {
  readonly code = 'thread_gone';
}

/** Who waits for an answer. */
export type Asker = {
  /** Nobody waits any longer: what has not been sent yet is taken back. */
  readonly isGone: boolean;
};

/** Takes a message back that nobody waits for any more when the packet is sent; its ask resolves with `answer` then. */
export type Recall<Answer> = { readonly asker: Asker; readonly answer: Answer };

export type LinkOptions = {
  readonly thread: string;
  readonly port: Pick<MessagePort, 'postMessage' | 'on'>;
  readonly onTold: (actor: string, message: unknown) => void;
  /** When to flush by itself: `setImmediate` gathers what one poll of the sockets brought. Absent: only by `flush()`. */
  readonly schedule?: (flush: () => void) => void;
};

export function openLink({ thread, port, onTold, schedule }: LinkOptions): Link {
  let parcels: Parcel[] = [];
  /** Of those parcels the ones that may be taken back. */
  let recalls: { readonly parcel: Parcel; readonly ask: number; readonly recall: Recall<unknown> }[] = [];
  let asks = 0;
  let broken: Error | null = null;
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();

  function put(parcel: Parcel): void {
    if (parcels.push(parcel) === 1) schedule?.(flush);
  }

  function takeBack(): void {
    for (const { parcel, ask, recall } of recalls) {
      if (!recall.asker.isGone) continue;
      parcels.splice(parcels.indexOf(parcel), 1);
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
    if (recalls.length > 0) takeBack();
    if (parcels.length === 0) return;
    const packed = packMessages(parcels);
    parcels = [];
    // A copy of exact size, whose memory moves to the other thread.
    const bytes = new Uint8Array(packed.length);
    bytes.set(packed);
    port.postMessage(bytes, [bytes.buffer]);
  }

  port.on('message', (bytes: Uint8Array) => {
    for (const [to, value] of unpackMessages<Parcel>(bytes)) {
      if (typeof to === 'string') onTold(to, value);
      else answer(to, value);
    }
  });

  return {
    tell: (actor, message) => put([actor, message]),
    ask(actor, message, recall) {
      if (broken) return Promise.reject(broken);
      const ask = ++asks;
      const parcel: Parcel = [actor, { ...message, replyTo: { thread, ask } satisfies ReplyTo }];
      put(parcel);
      if (recall) recalls.push({ parcel, ask, recall });
      return new Promise((resolve, reject) => waiting.set(ask, { resolve, reject }));
    },
    reply: (to, value) => put([to.ask, value]),
    flush,
    fail(cause) {
      broken = new ThreadGone(cause.message, { cause });
      for (const { reject } of waiting.values()) reject(broken);
      waiting.clear();
    },
  };
}
