// A job actor without hosts over what a store holds, and a loop whose turns a test runs one by one.
import { type JobActor, startJobActor } from '../../../../actors/job/actor.ts';
import { Gauges } from '../../../../actors/job/gauges.ts';
import { makeBlockKeys } from '../../../../runtime/ids.ts';
import { type Loop, startLoop } from '../../../../runtime/loop.ts';
import type { Store } from '../../../../runtime/store/store.ts';
import { config, noPipeline } from './simulator.ts';

/**
 * The test sets the handler of the loop. `onReply` is called with each reply of a committed turn, `onSend` with each message to another thread.
 * A turn that fails throws. By default, there are no plugins.
 */
export function bareJobActor(
  store: Store,
  nowUs: () => number,
  onReply: (value: unknown) => void = () => {},
  onSend: (actor: string, message: unknown) => void = () => {},
  inForce = config([]),
): { readonly loop: Loop; readonly job: JobActor } {
  const loop = startLoop({
    store,
    clock: { nowUs },
    schedule: () => {},
    send: onSend,
    reply: (_, value) => onReply(value),
    onFailure: error => {
      throw error;
    },
  });
  const job = startJobActor({
    reader: store,
    config: inForce,
    blockKeys: makeBlockKeys(() => 7),
    random: Math.random,
    gauges: new Gauges(),
    nowMs: Math.floor(nowUs() / 1000),
    self: () => {},
    pipeline: noPipeline,
    alarm: () => {},
    startHost: () => ({ configure() {}, submit() {}, cancel() {}, stop: async () => {} }),
  });
  return { loop, job };
}
