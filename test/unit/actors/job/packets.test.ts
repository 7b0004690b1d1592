// Values that stay in memory do not keep their packet: a small value that came with large ones is copied into memory of its own.
import { expect, it } from 'vitest';
import { BlockBuilder } from '../../../../actors/job/records/block.ts';
import type { JobGroup } from '../../../../actors/job/records/job.ts';
import { unpinned } from '../../../../runtime/bytes.ts';
import { encodeBody } from '../../../../runtime/host/wire/outcome.ts';
import { makeBlockKeys } from '../../../../runtime/ids.ts';
import { pack } from '../../../../runtime/packing.ts';
import { calm, command, config, dice, plugin, Simulation } from './simulator.ts';

const packetBytes = 4 * 2 ** 20;

/** The value as a view of a packet that holds much else. */
function inPacket(value: unknown): Uint8Array {
  const packed = pack(value);
  const packet = Buffer.alloc(packetBytes);
  packet.set(packed, 1000);
  return packet.subarray(1000, 1000 + packed.length);
}

const keptBytes = (bytes: Uint8Array): number => bytes.buffer.byteLength;

it('keeps of waiting jobs the payloads, and not the packet that they came in', () => {
  const world = new Simulation(config([plugin('fast')]), calm, dice(1));
  world.sealed.add('fast');
  world.tell({ kind: 'holds_changed' });
  const replyTo = { ask: 1 };
  const payloads = [inPacket({ n: 1 }), inPacket({ n: 2 })];
  const message = { plugin: 'fast', command: 'handle', payloads, submittedBy: 'test', event: null };
  world.deliver({ kind: 'submit', replyTo, ...message });
  world.turn();
  world.sealed.clear();
  world.tell({ kind: 'holds_changed' });
  world.turn();
  const kept = world.held.flatMap(({ frame }) => frame.payloads);
  expect(kept.map(payload => [Buffer.from(payload), keptBytes(payload) < 1000])).toEqual([
    [pack({ n: 1 }), true],
    [pack({ n: 2 }), true],
  ]);
});

it('keeps of a state that was put in place of the one before no packet', () => {
  const replacing = plugin('fast', {}, [command('handle', { replacesState: true })]);
  const world = new Simulation(config([replacing]), calm, dice(1));
  world.submit('fast', 'handle', {});
  world.turn();
  const { frame, slot } = world.held.pop()!;
  const body = encodeBody({ result: pack(null), state_updates: pack({ n: 1 }), logs: Buffer.alloc(packetBytes) });
  const outcome = { task: 0, startedUs: world.nowUs, runUs: 1, verdict: 'ok', permanent: false, body } as const;
  world.tell({ kind: 'outcomes', slot, frameId: frame.frameId, outcomes: [outcome] });
  world.submit('fast', 'handle', {});
  world.turn();
  const { state } = world.held[0]!.frame;
  expect([Buffer.from(state), keptBytes(state) < 1000]).toEqual([pack({ n: 1 }), true]);
});

it('has payloads and contexts of its own, once a block is encoded', () => {
  const group: JobGroup = {
    submittedBy: 'test',
    parent: null,
    root: null,
    depth: 1,
    event: null,
    context: inPacket({ a: 1 }),
    pipeline: null,
    stepId: null,
    run: null,
    hooked: false,
    rerun: null,
    options: null,
  };
  const block = new BlockBuilder(makeBlockKeys(() => 7).next(0), 'echo', 'handle', 0);
  for (let n = 0; n < 3; n++) block.add(inPacket({ n }), group, n > 0);
  block.encode();
  expect(block.count).toBe(3);
  for (let n = 0; n < 3; n++) expect(Buffer.from(block.payload(n))).toEqual(pack({ n }));
  expect(block.group(0)).toEqual({ ...group, context: pack({ a: 1 }) });
  expect(keptBytes(block.payload(1))).toBeLessThan(1000);
  expect(keptBytes(block.group(0).context)).toBeLessThan(1000);
});

it('copies what would keep much alive, and nothing else', () => {
  const whole = new Uint8Array(1000);
  expect(unpinned(whole)).toBe(whole);
  expect(unpinned(whole.subarray(0, 600)).buffer).toBe(whole.buffer);
  expect(unpinned(whole.subarray(10, 30)).buffer.byteLength).toBe(20);
});
