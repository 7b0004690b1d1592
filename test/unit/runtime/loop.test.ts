// Turns: nothing leaves before the commit, everything of a turn is one commit, a failed turn leaves no trace.
import { expect, it } from 'vitest';
import { type Loop, startLoop, turnMsMax } from '../../../runtime/loop.ts';
import { openMemoryStore } from '../../../runtime/store/memory.ts';
import { StoreFull } from '../../../runtime/store/store.ts';
import type { Actor } from '../../../runtime/turn.ts';

function thread(actors: Record<string, Actor>, log: string[], full = () => false, stopwatch = () => 0) {
  const store = openMemoryStore(batch => {
    if (full()) throw new StoreFull('no room');
    log.push(`commit ${batch.size}`);
  });
  let run = (): void => {};
  const loop: Loop = startLoop({
    store,
    clock: { nowUs: () => 1 },
    stopwatch,
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
  // What one told the other is no more: what was delivered is handled again.
  expect(log).toEqual(['failed a bug 2']);
  loop.setActors({ careless: writer, writer });
  loop.deliver('writer', 'b');
  turn();
  expect(log.slice(1)).toEqual(['commit 1', 'reply b', 'send elsewhere']);
});

it('runs the effects behind one that throws, and tells of it', () => {
  const log: string[] = [];
  const careless: Actor = {
    receive(_, turn) {
      turn.after(() => log.push('before'));
      turn.after(() => {
        throw new Error('a bug');
      });
      turn.reply({ thread: 'edge', ask: 1 }, 'behind');
    },
  };
  const { loop, turn } = thread({ careless }, log);
  loop.deliver('careless', 'a');
  turn();
  expect(log).toEqual(['before', 'reply behind', 'failed a bug 0']);
  loop.setActors({ careless: writer });
  loop.deliver('careless', 'b');
  turn();
  expect(log.slice(3)).toEqual(['commit 1', 'reply b', 'send elsewhere']);
});

it('handles messages singly before what was delivered meanwhile, and that together', () => {
  const log: string[] = [];
  const { loop, turn } = thread({ writer }, log);
  loop.deliver('writer', 'a');
  loop.replay(['b', 'c'].map(message => ({ actor: 'writer', message })));
  loop.deliver('writer', 'd');
  loop.deliver('writer', 'e');
  // What waited in a mailbox already is of the first turn.
  for (let turns = 0; turns < 3; turns++) turn();
  expect(log.filter(line => /commit|reply/.test(line))).toEqual([
    ...['commit 2', 'reply a', 'reply b', 'commit 1', 'reply c', 'commit 2', 'reply d', 'reply e'],
  ]);
});

it('leaves to the next turn what it has no time for, but for one message of each actor', () => {
  const log: string[] = [];
  let ms = 0;
  const slow: Actor = {
    receive(messages, turn) {
      ms += turnMsMax / 2;
      turn.tell('writer', `${messages.join()}!`);
    },
  };
  const { loop, turn } = thread({ slow, writer }, log, undefined, () => ms);
  for (const message of ['a', 'b', 'c']) loop.deliver('slow', message);
  for (const message of ['d', 'e']) loop.deliver('writer', message);
  turn();
  // What actors tell each other belongs to the turn.
  const replies = () => log.splice(0).filter(line => line.startsWith('reply'));
  expect(replies()).toEqual(['reply a!', 'reply b!', 'reply d']);
  loop.deliver('slow', 'f');
  turn();
  expect(replies()).toEqual(['reply c!', 'reply f!', 'reply e']);
});

it('leaves nothing to the next turn where several actors are to take a message in one', () => {
  let run = (): void => {};
  let ms = 0;
  const taken: unknown[] = [];
  const slow: Actor = {
    receive(messages) {
      ms += turnMsMax;
      taken.push(...messages);
    },
  };
  const loop = startLoop({
    store: openMemoryStore(),
    clock: { nowUs: () => 1 },
    stopwatch: () => ms,
    isShared: message => message === 'both',
    schedule: next => {
      run = next;
    },
    send() {},
    reply() {},
    onFailure() {},
  });
  loop.setActors({ a: slow, b: slow });
  for (const actor of ['a', 'b']) for (const message of [actor, 'both']) loop.deliver(actor, message);
  run();
  expect(taken).toEqual(['a', 'both', 'b', 'both']);
});

it('tells of all that was delivered when a turn fails that had no time for some of it', () => {
  const log: string[] = [];
  let ms = 0;
  const slow: Actor = {
    receive() {
      ms += turnMsMax;
    },
    quiet() {
      throw new Error('a bug');
    },
  };
  const { loop, turn } = thread({ slow }, log, undefined, () => ms);
  for (const message of ['a', 'b', 'c']) loop.deliver('slow', message);
  turn();
  turn();
  expect(log).toEqual(['failed a bug 3', 'failed a bug 0']);
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
