// Turns: nothing leaves before the commit, everything of a turn is one commit, a failed turn leaves no trace.
import { expect, it } from 'vitest';
import { type Loop, startLoop } from '../../runtime/loop.ts';
import { openMemoryStore } from '../../runtime/store/memory.ts';
import { StoreFull } from '../../runtime/store/store.ts';
import type { Actor } from '../../runtime/turn.ts';

function thread(actors: Record<string, Actor>, log: string[], full = () => false) {
  const store = openMemoryStore(batch => {
    if (full()) throw new StoreFull('no room');
    log.push(`commit ${batch.size}`);
  });
  let run = (): void => {};
  const loop: Loop = startLoop({
    store,
    clock: { nowUs: () => 1 },
    schedule: next => {
      run = next;
    },
    send: actor => log.push(`send ${actor}`),
    reply: (_, value) => log.push(`reply ${value}`),
    onFailure: (error, handled) => log.push(`failed ${(error as Error).message} ${handled.length}`),
  });
  loop.setActors(actors);
  return { loop, store, turn: () => run() };
}

const writer: Actor = {
  receive(messages, turn) {
    for (const message of messages) {
      turn.batch.put('meta', Buffer.from(String(message)), Buffer.from('x'));
      turn.reply({ thread: 'edge', ask: 1 }, message);
      turn.tell('elsewhere', message as object);
    }
  },
};

it('commits once for all that waited, and only then replies and sends', () => {
  const log: string[] = [];
  const { loop, turn } = thread({ writer }, log);
  loop.deliver('writer', 'a');
  loop.deliver('writer', 'b');
  turn();
  expect(log).toEqual(['commit 2', 'reply a', 'send elsewhere', 'reply b', 'send elsewhere']);
});

it('handles what actors of the thread tell each other in the same turn and commit', () => {
  const log: string[] = [];
  const relay: Actor = {
    receive: (messages, turn) => messages.forEach(message => void turn.tell('writer', `${message}!`)),
  };
  const { loop, turn } = thread({ relay, writer }, log);
  loop.deliver('relay', 'a');
  turn();
  expect(log).toEqual(['commit 1', 'reply a!', 'send elsewhere']);
});

it('lets nothing out of a turn whose commit failed, and says what was in it', () => {
  const log: string[] = [];
  let isFull = true;
  const { loop, store, turn } = thread({ writer }, log, () => isFull);
  loop.deliver('writer', 'a');
  turn();
  expect(log).toEqual(['failed no room 1']);
  expect(store.count('meta')).toBe(0);
  isFull = false;
  loop.deliver('writer', 'b');
  turn();
  expect(log.slice(1)).toEqual(['commit 1', 'reply b', 'send elsewhere']);
});

it('leaves nothing of a turn that failed to the actors that come after it', () => {
  const log: string[] = [];
  const careless: Actor = {
    receive(_, turn) {
      turn.tell('writer', 'told');
      throw new Error('a bug');
    },
  };
  const { loop, turn } = thread({ careless, writer }, log);
  loop.deliver('writer', 'asked');
  loop.deliver('careless', 'a');
  turn();
  expect(log).toEqual(['failed a bug 3']);
  loop.setActors({ careless: writer, writer });
  loop.deliver('writer', 'b');
  turn();
  expect(log.slice(1)).toEqual(['commit 1', 'reply b', 'send elsewhere']);
});

it('asks for a turn once, however much is delivered', () => {
  let asked = 0;
  const loop = startLoop({
    store: openMemoryStore(),
    clock: { nowUs: () => 1 },
    schedule: () => asked++,
    send() {},
    reply() {},
    onFailure() {},
  });
  loop.setActors({ writer });
  for (let n = 0; n < 100; n++) loop.deliver('writer', n);
  expect(asked).toBe(1);
});
