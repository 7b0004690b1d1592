// Each command misbehaves in its own way; `amount` says how much.

export function loop() {
  for (;;);
}

export function memory({ payload }) {
  const mb = 2 ** 20;
  // Arrays of numbers use the JavaScript heap, whose size is limited.
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
