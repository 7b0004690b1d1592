// Misbehaves as its command says, as much as `amount` says.

export function loop() {
  for (;;);
}

export function memory({ payload }) {
  const mb = 2 ** 20;
  // Numbers lie in the heap, which is bounded.
  return { result: { held: Array.from({ length: payload.amount }, () => new Array(mb / 8).fill(0.5)).length } };
}

export function events({ payload }, { emit }) {
  for (let n = 0; n < payload.amount; n++) emit({ type: `wild.${n}`, payload: {} });
}

export function exit() {
  process.exit(3);
}

export function kill() {
  process.kill(process.pid, 'SIGKILL');
}
