// Answers that are expensive to process.
import { randomBytes } from 'node:crypto';

/** Sets every second entry of the state, from `first` on. Entries are small, so that most of the work is walking over the state. */
export function fill({ payload }) {
  const state_updates = {};
  for (let n = payload.first; n < payload.entries; n += 2) state_updates[`k${n}`] = 1;
  return { state_updates };
}

/** Sets the first `entries` entries of the state, in a random order. */
export function shuffle({ payload }) {
  const keys = Array.from({ length: payload.entries }, (_, n) => `k${n}`);
  for (let n = keys.length - 1; n > 0; n--) {
    const other = Math.floor(Math.random() * (n + 1));
    [keys[n], keys[other]] = [keys[other], keys[n]];
  }
  return { state_updates: Object.fromEntries(keys.map(key => [key, 3])) };
}

export function update({ payload }) {
  const state_updates = {};
  const { first = payload.item ?? 0, count } = payload;
  for (let n = first; n < first + count; n++) state_updates[`k${n}`] = 2;
  return { state_updates };
}

export function text({ payload }) {
  return { result: { text: textOf(payload.characters) } };
}

export function items({ payload }) {
  return { result: { ...payload, items: Array.from({ length: payload.count }, (_, n) => n) } };
}

/** A list whose only element is a list of `bytes` numbers. Each number takes one byte when it is packed. */
export function nested({ payload }) {
  return { result: { items: [numbers(payload.bytes)] } };
}

/** Emits one event with a list of `bytes` such numbers, or with a text of this length. */
export function announce({ payload }, { emit }) {
  const { type, bytes } = payload;
  emit({ type, payload: payload.isText ? { text: 'x'.repeat(bytes) } : { items: numbers(bytes) } });
}

export function noise({ payload }) {
  return { result: { noise: randomBytes(payload.bytes / 2).toString('hex') } };
}

export function words({ payload }) {
  return { result: { words: 'the quick brown fox '.repeat(payload.bytes / 20) } };
}

export function emit({ payload }, { emit }) {
  const text = textOf(payload.characters);
  for (let n = 0; n < payload.count; n++) emit({ type: payload.type, payload: { n, text } });
}

export function end() {}

function numbers(count) {
  return Array.from({ length: count }, (_, n) => n % 100);
}

/** A pseudo-random sequence of the letters a and b, always the same. */
function textOf(characters) {
  let state = 12_345;
  let text = '';
  for (let n = 0; n < characters; n++) {
    state = Math.imul(state, 1_103_515_245) + 12_345;
    text += ((state >>> 16) & 1) === 0 ? 'a' : 'b';
  }
  return text;
}
