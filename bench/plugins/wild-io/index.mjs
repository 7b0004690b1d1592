// Each command misbehaves in its own way, or, with `tame`, only waits a moment.
import { setTimeout as pause } from 'node:timers/promises';

const beside = misbehave => async request => {
  if (request.payload.tame) await pause(20);
  else await misbehave(request);
};

export const block = beside(() => {
  for (;;);
});

export const never = beside(() => new Promise(() => {}));

export const late = beside(() => {
  setTimeout(() => {
    throw new Error('later');
  });
});

export const memory = beside(({ payload }) => {
  const mb = 2 ** 20;
  const held = Array.from({ length: payload.amount }, () => new Array(mb / 8).fill(0.5));
  return held.length;
});
