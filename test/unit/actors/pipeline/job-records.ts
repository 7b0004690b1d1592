// The records that the job actor writes of jobs and of their ends, for a stage on which runs are run again.
import { AttemptWriter } from '../../../../actors/job/records/attempts.ts';
import { BlockBuilder } from '../../../../actors/job/records/block.ts';
import type { JobGroup, Status, TerminalStatus } from '../../../../actors/job/records/job.ts';
import { writeRerun } from '../../../../actors/job/records/reruns.ts';
import type { Body } from '../../../../runtime/host/wire/outcome.ts';
import { blockOf, type JobId } from '../../../../runtime/ids.ts';
import type { Batch } from '../../../../runtime/store/store.ts';

/** A job of the stage. */
type Job = {
  readonly id: JobId;
  readonly plugin: string;
  readonly command: string;
  readonly group: JobGroup;
  readonly offset: number;
  readonly payload: Uint8Array;
  readonly status: Status;
  readonly body: Body | null;
};

export class JobRecords {
  /** The jobs of this turn, in the order of their creation. */
  #added: Job[] = [];
  #ended: Job[] = [];

  add(job: Job): void {
    this.#added.push(job);
  }

  end(job: Job): void {
    this.#ended.push(job);
  }

  write(batch: Batch, nowUs: number): void {
    const blocks = new Map<string, BlockBuilder>();
    for (const { id, plugin, command, payload, group, offset } of this.#added) {
      const key = Buffer.from(blockOf(id));
      const name = key.toString('hex');
      const block = blocks.get(name) ?? new BlockBuilder(key, plugin, command, nowUs);
      blocks.set(name, block);
      block.add(payload, group, offset > 0);
      if (group.rerun) writeRerun(batch, group.rerun, id, payload);
    }
    for (const block of blocks.values()) batch.put('blocks', block.key, block.encode());
    const writer = new AttemptWriter();
    for (const { id, status, body } of this.#ended.sort((a, b) => Buffer.compare(a.id, b.id))) {
      const times = { startedUs: nowUs, completedUs: nowUs };
      writer.add(batch, id, 1, { status: status as TerminalStatus, final: true, ...times, body: body! });
    }
    writer.close(batch);
    this.#added = [];
    this.#ended = [];
  }
}
