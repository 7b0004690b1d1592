// Turns: nothing leaves before the commit, everything of a turn is one commit, a failed turn leaves no trace.
import { expect, it } from 'vitest';
import { type Loop, startLoop, turnMsMax } from '../../../runtime/loop.ts';
import { StoreFull } from '../../../runtime/store/store.ts';
import type { TurnHandler } from '../../../runtime/turn.ts';
import { openMemoryStore } from '../../support/memory-store.ts';

function thread(handler: TurnHandler, log: string[], full = () => false, stopwatch = () => 0) {
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
  loop.setHandler(handler);
  return { loop, store, turn: () => run() };
}

const writer: TurnHandler = {
  receive(_, message, turn) {
    turn.batch.put('meta', Buffer.from(String(message)), Buffer.from('x'));
    turn.reply({ ask: 1 }, message);
    turn.tell('elsewhere', message as object);
  },
};

it('commits once for all that waited, and only then replies and sends', () => {
  const log: string[] = [];
  const { loop, turn } = thread(writer, log);
  loop.deliver('writer', 'a');
  loop.deliver('writer', 'b');
  turn();
  expect(log).toEqual(['commit 2', 'reply a', 'send elsewhere', 'reply b', 'send elsewhere']);
});

it('begins each turn before its first message, and ends it after the last, in the same commit', () => {
  const log: string[] = [];
  const { loop, turn } = thread(
    {
      begin: () => log.push('begin'),
      receive: (actor, message) => log.push(`${actor} gets ${message}`),
      end(turn) {
        log.push('end');
        turn.batch.put('meta', Buffer.from('a'), Buffer.from('x'));
      },
    },
    log,
  );
  loop.deliver('one', 'a');
  loop.deliver('other', 'b');
  loop.deliver('one', 'c');
  turn();
  expect(log).toEqual(['begin', 'one gets a', 'other gets b', 'one gets c', 'end', 'commit 1']);
});

it('lets nothing out of a turn whose commit failed, and says what was in it', () => {
  const log: string[] = [];
  let isFull = true;
  const { loop, store, turn } = thread(writer, log, () => isFull);
  loop.deliver('writer', 'a');
  turn();
  expect(log).toEqual(['failed no room 1']);
  expect(store.count('meta')).toBe(0);
  isFull = false;
  loop.deliver('writer', 'b');
  turn();
  expect(log.slice(1)).toEqual(['commit 1', 'reply b', 'send elsewhere']);
});

it('says all that was delivered when a message in the middle fails', () => {
  const log: string[] = [];
  const careless: TurnHandler = {
    receive(actor, message, turn) {
      if (message === 'b') throw new Error('a bug');
      writer.receive(actor, message, turn);
    },
  };
  const { loop, turn } = thread(careless, log);
  for (const message of ['a', 'b', 'c']) loop.deliver('writer', message);
  turn();
  expect(log).toEqual(['failed a bug 3']);
  loop.setHandler(writer);
  loop.deliver('writer', 'd');
  turn();
  expect(log.slice(1)).toEqual(['commit 1', 'reply d', 'send elsewhere']);
});

it('runs the effects behind one that throws, and tells of it', () => {
  const log: string[] = [];
  const careless: TurnHandler = {
    receive(_, __, turn) {
      turn.after(() => log.push('before'));
      turn.after(() => {
        throw new Error('a bug');
      });
      turn.reply({ ask: 1 }, 'behind');
    },
  };
  const { loop, turn } = thread(careless, log);
  loop.deliver('careless', 'a');
  turn();
  expect(log).toEqual(['before', 'reply behind', 'failed a bug 0']);
  loop.setHandler(writer);
  loop.deliver('careless', 'b');
  turn();
  expect(log.slice(3)).toEqual(['commit 1', 'reply b', 'send elsewhere']);
});

it('handles messages singly before all that waits, and that together', () => {
  const log: string[] = [];
  const { loop, turn } = thread(writer, log);
  loop.deliver('writer', 'a');
  loop.replay(['b', 'c'].map(message => ({ actor: 'writer', message })));
  loop.deliver('writer', 'd');
  loop.deliver('writer', 'e');
  for (let turns = 0; turns < 3; turns++) turn();
  expect(log.filter(line => /commit|reply/.test(line))).toEqual([
    ...['commit 1', 'reply b', 'commit 1', 'reply c', 'commit 3', 'reply a', 'reply d', 'reply e'],
  ]);
});

it('leaves to the next turn what it has no time for, but for one message', () => {
  const log: string[] = [];
  let ms = 0;
  const slow: TurnHandler = {
    receive(actor, message, turn) {
      ms += turnMsMax / 2;
      writer.receive(actor, message, turn);
    },
  };
  const { loop, turn } = thread(slow, log, undefined, () => ms);
  for (const message of ['a', 'b', 'c']) loop.deliver('slow', message);
  turn();
  const replies = () => log.splice(0).filter(line => line.startsWith('reply'));
  expect(replies()).toEqual(['reply a', 'reply b']);
  loop.deliver('slow', 'd');
  ms += turnMsMax;
  turn();
  expect(replies()).toEqual(['reply c', 'reply d']);
});

it('tells of all that was delivered when a turn fails that had no time for some of it', () => {
  const log: string[] = [];
  let ms = 0;
  const slow: TurnHandler = {
    receive() {
      ms += turnMsMax;
    },
    end() {
      throw new Error('a bug');
    },
  };
  const { loop, turn } = thread(slow, log, undefined, () => ms);
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
  loop.setHandler(writer);
  for (let n = 0; n < 100; n++) loop.deliver('writer', n);
  expect(asked).toBe(1);
});
