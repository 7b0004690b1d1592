// Answers that are expensive to process.
import { randomBytes } from 'node:crypto';

/** Entries are small, so that walking over the state takes most of the work. */
export function fill({ payload }) {
  const state_updates = {};
  for (let n = 0; n < payload.entries; n++) state_updates[`k${n}`] = 1;
  return { state_updates };
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
