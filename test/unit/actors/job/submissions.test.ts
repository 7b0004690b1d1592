// How the main thread gathers submissions for the ledger, and what becomes of each job of a message with many.

import { describe, expect, it } from 'vitest';
import type { SubmitJobsReply } from '../../../../actors/job/protocol.ts';
import type { Link } from '../../../../runtime/link.ts';
import { pack } from '../../../../runtime/packing.ts';
import type { Submission } from '../../../../service/submissions.ts';
import { lookBackMax, Submissions, waitingBytesMax } from '../../../../service/submissions.ts';
import { calm, config, plugin, Simulation } from './simulator.ts';

const one: Submission = { plugin: 'a', command: 'run', payload: pack({}), submittedBy: 'api', event: null };
const event = { type: 'api.trigger', source: 'api' };
const key = { key: new Uint8Array(16), request: new Uint8Array(16) };
const id = (n: number) => new Uint8Array(16).fill(n);

/** Gathers submissions, and answers each message with the result of `answer`. */
function gather(answer: (payloads: number) => Promise<SubmitJobsReply>) {
  const sent: (Submission & { payloads: Uint8Array[] })[] = [];
  const link = {
    ask(_: string, message: object) {
      sent.push(message as never);
      return answer(sent.at(-1)!.payloads.length);
    },
    flush() {},
  } as unknown as Link;
  return { sent, submissions: new Submissions(link) };
}

describe('submissions', () => {
  it('share a message where all but their payloads is the same, and each gets its own id', async () => {
    const { sent, submissions } = gather(async n => ({
      kind: 'accepted',
      ids: Buffer.concat([id(1), id(2)].slice(0, n)),
    }));
    const others = [{ command: 'walk' }, { submittedBy: 'api:ci' }, { event }, { plugin: 'b' }].map(more => ({
      ...one,
      ...more,
    }));
    const replies = await Promise.all([one, ...others, one].map(each => submissions.submit(each)));
    expect(sent.map(({ payloads }) => payloads.length)).toEqual([2, 1, 1, 1, 1]);
    expect(replies.map(reply => reply.kind === 'accepted' && reply.id[0])).toEqual([1, 1, 1, 1, 1, 2]);
  });

  it('with a key of their own share none', async () => {
    const { sent, submissions } = gather(async () => ({ kind: 'accepted', ids: id(1) }));
    await Promise.all(
      [one, { ...one, idempotency: key }, { ...one, idempotency: key }].map(each => submissions.submit(each)),
    );
    expect(sent).toHaveLength(3);
  });

  it('share none with one too far back, so that very many unlike ones cost little', async () => {
    const { sent, submissions } = gather(async n => ({ kind: 'accepted', ids: Buffer.alloc(16 * n) }));
    const callers = Array.from({ length: lookBackMax + 1 }, (_, n) => ({ ...one, submittedBy: `caller ${n}` }));
    await Promise.all([...callers, callers[0]!, callers[lookBackMax]!].map(each => submissions.submit(each)));
    expect(sent.map(({ payloads }) => payloads.length)).toEqual([...Array(lookBackMax).fill(1), 2, 1]);
  });

  it('fail together with their message', async () => {
    const { submissions } = gather(() => Promise.reject(new Error('the ledger is gone')));
    const both = await Promise.allSettled([submissions.submit(one), submissions.submit(one)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('of callers that left before the message is sent are taken back, and the others get their own ids', async () => {
    const { sent, submissions } = gather(async n => ({
      kind: 'accepted',
      ids: Buffer.concat([id(1), id(2)].slice(0, n)),
    }));
    const askers = [0, 1, 2].map(() => ({ isGone: false }));
    const replies = Promise.all(askers.map(asker => submissions.submit({ ...one, asker })));
    const alone = submissions.submit({ ...one, command: 'walk', asker: askers[1]! });
    askers[1]!.isGone = true;
    expect((await replies).map(reply => (reply.kind === 'accepted' ? reply.id[0] : reply.refusal))).toEqual([
      ...[1, 'unavailable', 2],
    ]);
    expect(await alone).toEqual({ kind: 'refused', refusal: 'unavailable' });
    expect(sent.map(({ payloads }) => payloads.length)).toEqual([2]);
    expect(sent[0]).not.toHaveProperty('asker');
  });

  it('that wait for the ledger have a limit for their bytes together; one alone may be larger', async () => {
    let answer = (_: SubmitJobsReply): void => {};
    const { submissions } = gather(
      () =>
        new Promise(resolve => {
          answer = resolve;
        }),
    );
    const large = { ...one, payload: new Uint8Array(waitingBytesMax + 1) };
    const first = submissions.submit(large);
    expect(await submissions.submit(one)).toEqual({ kind: 'refused', refusal: 'overloaded' });
    const run = { pipeline: 'p', payload: one.payload, submittedBy: 'api' };
    expect(await submissions.startRun(run, false)).toEqual({ kind: 'refused', refusal: 'overloaded' });
    await new Promise(resume => setImmediate(resume));
    answer({ kind: 'accepted', ids: id(1) });
    expect((await first).kind).toBe('accepted');
    const next = submissions.submit(one);
    await new Promise(resume => setImmediate(resume));
    answer({ kind: 'accepted', ids: id(2) });
    expect((await next).kind).toBe('accepted');
  });

  it.each(['queue_full', 'too_many_waiting'] as const)('are refused as %s from where there is no room', async rest => {
    const { submissions } = gather(async () => ({ kind: 'accepted', ids: id(1), rest }));
    const replies = await Promise.all([submissions.submit(one), submissions.submit(one)]);
    expect(replies).toEqual([
      { kind: 'accepted', id: id(1) },
      { kind: 'refused', refusal: rest },
    ]);
  });

  it('of a message are taken as far as the queue has room', () => {
    const simulation = new Simulation(config([plugin('a')], 3), calm, () => 0.5);
    simulation.submit('a', 'handle', 1, 2);
    simulation.submit('a', 'handle', 3, 4);
    simulation.submit('a', 'handle', 5);
    simulation.turn();
    expect(simulation.accepted).toHaveLength(3);
    expect(new Set(simulation.accepted).size).toBe(3);
    // Refused are the second job of the second message, and the third message.
    expect(simulation.refused).toEqual(['queue_full', 'queue_full']);
  });
});
