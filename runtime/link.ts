// Two threads and the packets between them: all messages of one turn of the sender go as one.
import type { MessagePort } from 'node:worker_threads';
import { packMessages, unpackMessages } from './packing.ts';
import type { ReplyTo } from './turn.ts';

/** On the wire: `[actor, message]` tells or asks, `[ask, value]` answers. */
type Parcel = readonly [string | number, unknown];

export type Link = {
  tell(actor: string, message: object): void;
  /** The message is sent with a `replyTo`; resolves with the answer. */
  ask<Answer>(actor: string, message: object): Promise<Answer>;
  reply(to: ReplyTo, value: unknown): void;
  /** Sends what has gathered; otherwise it goes when `schedule` says. */
  flush(): void;
  /** Every ask that has no answer yet fails with this error. */
  fail(error: Error): void;
};

export type LinkOptions = {
  readonly thread: string;
  readonly port: Pick<MessagePort, 'postMessage' | 'on'>;
  readonly onTold: (actor: string, message: unknown) => void;
  /** When to flush by itself: `setImmediate` gathers what one poll of the sockets brought. Absent: only by `flush()`. */
  readonly schedule?: (flush: () => void) => void;
};

export function openLink({ thread, port, onTold, schedule }: LinkOptions): Link {
  let parcels: Parcel[] = [];
  let asks = 0;
  let broken: Error | null = null;
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();

  function put(parcel: Parcel): void {
    if (parcels.push(parcel) === 1) schedule?.(flush);
  }

  function flush(): void {
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
      if (typeof to === 'string') {
        onTold(to, value);
        continue;
      }
      const asker = waiting.get(to);
      waiting.delete(to);
      asker?.resolve(value as never);
    }
  });

  return {
    tell: (actor, message) => put([actor, message]),
    ask(actor, message) {
      if (broken) return Promise.reject(broken);
      const ask = ++asks;
      put([actor, { ...message, replyTo: { thread, ask } satisfies ReplyTo }]);
      return new Promise((resolve, reject) => waiting.set(ask, { resolve, reject }));
    },
    reply: (to, value) => put([to.ask, value]),
    flush,
    fail(error) {
      broken = error;
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
}
