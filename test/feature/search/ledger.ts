// A ledger in memory for lists and search: jobs are written by the completions as the job actor writes them, and pruned as it prunes.

import { CompletionWriter } from '../../../actors/job/completion-writer.ts';
import { Gauges } from '../../../actors/job/gauges.ts';
import { JobState } from '../../../actors/job/job-state.ts';
import { BlockBuilder } from '../../../actors/job/records/block.ts';
import type { JobGroup, TerminalStatus } from '../../../actors/job/records/job.ts';
import { keyText, OpenBlock } from '../../../actors/job/records/open.ts';
import { taggedWith } from '../../../actors/job/records/options.ts';
import { encodeRetry } from '../../../actors/job/records/retry.ts';
import { putTagged, type Tags } from '../../../actors/job/records/tags.ts';
import { Retention } from '../../../actors/job/retention/retention.ts';
import type { Config } from '../../../config/config.ts';
import { encodeBody } from '../../../runtime/host/wire/outcome.ts';
import { type BlockKey, formatId, type JobId, jobId, makeBlockKeys } from '../../../runtime/ids.ts';
import { type Json, pack, packedEmpty } from '../../../runtime/packing.ts';
import type { Batch, Store } from '../../../runtime/store/store.ts';
import type { Turn } from '../../../runtime/turn.ts';
import { openMemoryStore } from '../../support/memory-store.ts';
import { noPipeline } from '../../unit/actors/job/simulator.ts';

/**
 * The story of one job. `attempts`: its ended attempts, in order. If `end` is `over`, the last one ended the job. `neverStarted`: the job was
 * cancelled before its first attempt, and `attempts` has only the end of the job.
 */
export type JobStory = {
  readonly neverStarted?: true;
  readonly attempts: readonly AttemptStory[];
  readonly end: 'over' | 'queued' | 'running';
};
export type AttemptStory = {
  readonly status: TerminalStatus;
  readonly error?: string;
  readonly stderr?: string;
  readonly result?: Json;
};
export type BlockStory = {
  readonly plugin: string;
  readonly command: string;
  readonly submittedBy: string;
  readonly jobs: readonly JobStory[];
  /** The run of which the jobs are steps, and the root of its tree. */
  readonly run?: JobId;
  readonly root?: JobId;
  /** The tags of each job. */
  readonly tags?: readonly (Tags | undefined)[];
};

export type NaiveJob = {
  id: string;
  plugin: string;
  command: string;
  status: string;
  attempt: number;
  block: number;
  tags?: Tags;
};
export type NaiveLog = AttemptStory & {
  readonly logId: string;
  readonly jobId: string;
  readonly plugin: string;
  readonly command: string;
  readonly submittedBy: string;
  readonly atUs: number;
  readonly block: number;
  readonly neverStarted: boolean;
};

export class Ledger {
  readonly store: Store;
  /** The same content as plain lists: jobs in the order of their creation, logs in the order of their ends. */
  jobs: NaiveJob[] = [];
  logs: NaiveLog[] = [];
  readonly #keys = makeBlockKeys(() => 5);
  #completions: CompletionWriter;
  #nowUs = 1_750_000_000_000_000;
  #blocks: { readonly key: BlockKey; readonly open: boolean; readonly number: number }[] = [];

  constructor(store: Store = openMemoryStore()) {
    this.store = store;
    this.#completions = new CompletionWriter(store);
  }

  /** The time of the latest entry of the journal. */
  get journalUs(): number {
    return this.#completions.journalUs;
  }

  /** Adds a block in a commit of its own. The first attempts of its jobs end in one commit, then the second ones, and so on. */
  add(story: BlockStory): void {
    const { plugin, command, submittedBy, jobs, tags = [] } = story;
    if (jobs.length === 0) return;
    const createdUs = this.#tick();
    const key = this.#keys.next(Math.floor(createdUs / 1000));
    const number = this.#blocks.length;
    const block = new BlockBuilder(key, plugin, command, createdUs);
    const open = new OpenBlock(keyText(key), plugin, command, jobs.length);
    open.next = jobs.length;
    this.#commit(batch => {
      for (const [i] of jobs.entries())
        block.add(packedEmpty, groupOf(submittedBy, story, tags[i]), i > 0 && tags[i] === tags[i - 1]);
      batch.put('blocks', key, block.encode());
      if (block.tagged > 0) putTagged(batch, key, block.tagged);
      this.#completions.accepted(batch, block);
      for (const [index, job] of jobs.entries()) this.#stand(batch, open, key, index, job);
      if (open.unsettled > 0) batch.put('open', key, open.encode());
    });
    for (const [index, job] of jobs.entries()) {
      const last = job.attempts.at(-1);
      const status = job.end === 'over' ? last!.status : job.end;
      const attempt = job.neverStarted ? 0 : job.attempts.length + (job.end === 'running' ? 1 : 0);
      const id = formatId(jobId(key, index));
      const own = tags[index];
      this.jobs.push({ id, plugin, command, status, attempt, block: number, ...(own !== undefined && { tags: own }) });
    }
    const rounds = Math.max(...jobs.map(job => job.attempts.length));
    for (let round = 0; round < rounds; round++) this.#end(story, key, number, createdUs, round);
    this.#blocks.push({ key, open: open.unsettled > 0, number });
  }

  #stand(batch: Batch, open: OpenBlock, key: BlockKey, index: number, { attempts, end }: JobStory): void {
    if (end === 'over') {
      open.settle(index);
      return;
    }
    const isRetry = attempts.length > 0;
    if (isRetry) {
      open.retrying++;
      const custody = end === 'queued' ? 'waiting' : 'sent';
      const record = { attempt: attempts.length + 1, custody, dueUs: 0 } as const;
      batch.put('retries', jobId(key, index), encodeRetry(record));
    } else if (end === 'queued') open.noteFirst(index, 'waiting');
    if (end === 'running') this.#completions.running(open.plugin, open.command, 1);
  }

  #end(story: BlockStory, key: BlockKey, block: number, createdUs: number, round: number): void {
    const completedUs = this.#completions.commitUs(this.#tick());
    const { plugin, command, submittedBy, jobs } = story;
    this.#commit(batch => {
      for (const [index, { attempts, end, neverStarted = false }] of jobs.entries()) {
        const attempt = attempts[round];
        if (!attempt) continue;
        const { status, error, stderr, result } = attempt;
        const body = encodeBody({
          ...(result !== undefined && { result: pack(result) }),
          ...(error !== undefined && { error: Buffer.from(error) }),
          ...(stderr !== undefined && { stderr: Buffer.from(stderr) }),
        });
        const id = jobId(key, index);
        const final = end === 'over' && round === attempts.length - 1;
        const record = { status, final, startedUs: completedUs - 1, completedUs, body };
        const owner = { plugin, command, submittedBy, createdUs, inStep: false };
        const number = neverStarted ? 0 : round + 1;
        this.#completions.attempt(batch, owner, id, number, record);
        const jobName = formatId(id);
        const log = {
          ...attempt,
          neverStarted,
          logId: `${jobName}-${number}`,
          jobId: jobName,
          plugin,
          command,
          submittedBy,
        };
        this.logs.push({ ...log, atUs: completedUs, block });
      }
    });
  }

  /** Prunes down to `jobsMax` settled jobs, without blocks that have open jobs. */
  prune(jobsMax: number): void {
    const state = this.#stateOf(jobsMax);
    let settled = this.jobs.filter(isSettled).length;
    for (const { open, number } of this.#blocks) {
      const mine = this.jobs.filter(job => job.block === number);
      if (settled <= jobsMax) break;
      if (open || mine.length === 0) continue;
      settled -= mine.length;
      this.jobs = this.jobs.filter(job => job.block !== number);
      this.logs = this.logs.filter(log => log.block !== number);
    }
    this.#sweep(state, new Retention(state));
  }

  /** Returns a function that runs a sweep, which continues where the one before stopped; its result is the number of turns. */
  sweeps(jobsMax: number, settledInRuns = 0): () => number {
    const state = this.#stateOf(jobsMax);
    state.gauges.set({ settledInRuns });
    const retention = new Retention(state);
    return () => this.#sweep(state, retention);
  }

  #stateOf(jobsMax: number): JobState {
    const state = new JobState({
      reader: this.store,
      config: { pipelines: [], plugins: {}, state: { retention: { jobsMs: 1e12, jobsMax } } } as unknown as Config,
      blockKeys: this.#keys,
      random: () => 0,
      gauges: new Gauges(),
      holdSources: [],
      openRuns: noPipeline,
    });
    state.isLoaded = true;
    return state;
  }

  #sweep(state: JobState, retention: Retention): number {
    let turns = 0;
    retention.close();
    for (let more = true; more; turns++) {
      this.#commit(batch => {
        more = retention.step({ nowUs: this.#nowUs, batch } as Turn);
        state.completions.close(batch);
        retention.close();
      });
    }
    this.#completions = new CompletionWriter(this.store);
    return turns;
  }

  #tick(): number {
    this.#nowUs += 1_000;
    return this.#nowUs;
  }

  #commit(write: (batch: Batch) => void): void {
    const batch = this.store.batch();
    write(batch);
    this.#completions.close(batch);
    this.store.commit(batch);
    this.store.refresh();
  }
}

function isSettled({ status }: NaiveJob): boolean {
  return status !== 'queued' && status !== 'running';
}

function groupOf(submittedBy: string, { run, root }: BlockStory, tags: Tags | undefined): JobGroup {
  const none = { parent: null, event: null, pipeline: null, stepId: null } as const;
  const position = run === undefined ? null : { run, node: 1, scope: 0, path: [], first: null };
  return {
    ...none,
    root: root ?? null,
    run: position,
    submittedBy,
    depth: 1,
    context: packedEmpty,
    hooked: false,
    rerun: null,
    options: taggedWith(tags),
  };
}
