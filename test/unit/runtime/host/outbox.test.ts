// Writing to a host: messages stay whole and in order, a long one is produced as the pipe takes it, and incomplete ones are reported.
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { Outbox } from '../../../../runtime/host/client/outbox.ts';

/** A pipe that takes written bytes only when the test says so. */
class Pipe extends Writable {
  readonly taken: string[] = [];
  #take: (() => void) | null = null;

  constructor() {
    super({ highWaterMark: 4 });
  }

  override _write(chunk: Buffer, _: string, done: (error?: Error) => void): void {
    this.#take = () => {
      this.#take = null;
      this.taken.push(chunk.toString());
      done();
    };
  }

  /** Takes all that waits, and what is written meanwhile. */
  async flow(): Promise<void> {
    while (this.#take) {
      this.#take();
      await new Promise(setImmediate);
    }
  }
}

function outboxOf(pipe: Pipe): Outbox {
  return new Outbox(pipe as unknown as Socket);
}

const head = (text: string) => ({ head: Buffer.from(text) });
const unread = (): never => {
  throw new Error('it was read');
};

it('writes messages in their order, and reads a long one as the pipe takes it', async () => {
  const pipe = new Pipe();
  const outbox = outboxOf(pipe);
  let read = 0;
  const more = function* () {
    for (const piece of ['one', 'two', 'three']) {
      read++;
      yield Buffer.from(piece);
    }
  };
  outbox.send({ ...head('long:'), more }, unread);
  outbox.send(head('next'), unread);
  expect(read).toBe(0);
  await pipe.flow();
  expect(pipe.taken).toEqual(['long:', 'one', 'two', 'three', 'next']);
});

it('tells of each message once that the other end never had whole', async () => {
  const pipe = new Pipe();
  const outbox = outboxOf(pipe);
  const told: string[] = [];
  outbox.send({ ...head('long:'), more: () => [Buffer.from('rest')] }, () => told.push('long'));
  outbox.send(head('next'), () => told.push('next'));
  outbox.close();
  outbox.close();
  await pipe.flow();
  expect([told, pipe.taken]).toEqual([['long', 'next'], ['long:']]);
});

it('writes nothing behind half a message whose rest cannot be read', async () => {
  const pipe = new Pipe();
  const outbox = outboxOf(pipe);
  const faults: unknown[] = [];
  outbox.onFault = error => void faults.push(error);
  const gone = new Error('gone');
  const more = function* (): Iterable<Uint8Array> {
    yield Buffer.from('half');
    throw gone;
  };
  outbox.send({ head: Buffer.from('h'), more }, () => {});
  outbox.send(head('next'), () => {});
  await pipe.flow();
  expect([pipe.taken, faults]).toEqual([['h', 'half'], [gone]]);
});
