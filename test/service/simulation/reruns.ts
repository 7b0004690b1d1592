// Callers who rerun ended jobs and runs. Each rerun that was acknowledged must exist, and no other.
import type { SubmitJobsReply, SubmitReply } from '../../../actors/job/protocol.ts';
import { headgatePlugin, pipelinePlugin, type RerunFrom } from '../../../actors/job/records/job.ts';
import { findJob } from '../../../actors/job/views/jobs.ts';
import { deliveredEvent, rerunRequest } from '../../../actors/job/views/rerun-request.ts';
import { formatId, parseId } from '../../../runtime/ids.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import { holds } from './broken.ts';
import type { Commits } from './commits.ts';
import type { Dice } from './dice.ts';

/** Jobs to rerun are drawn from this many newest ones. */
const newestMax = 60;
/** The `submitted_by` of these reruns. */
const again = 'again';

export type AskedRerun = { readonly of: string; readonly from: RerunFrom };
export type Request = { readonly rerun: AskedRerun; readonly actor: 'job' | 'pipeline'; readonly message: object };

export class Reruns {
  readonly #reader: Reader;
  readonly #commits: Commits;
  readonly #dice: Dice;
  readonly #isDamaged: (id: string) => boolean;
  /** How often a rerun of each job was requested. */
  readonly #asked = new Map<string, number>();
  /** The acknowledged reruns, by the ids in the answers. */
  readonly #made = new Map<string, AskedRerun>();

  constructor(reader: Reader, commits: Commits, dice: Dice, isDamaged: (id: string) => boolean) {
    this.#reader = reader;
    this.#commits = commits;
    this.#dice = dice;
    this.#isDamaged = isDamaged;
  }

  /** A request to rerun a job or run; null if none has ended. */
  next(): Request | null {
    const dice = this.#dice;
    const newest = [...this.#commits.jobs()].slice(-newestMax);
    const ended = newest.filter(({ plugin, attempts }) => plugin !== headgatePlugin && attempts.at(-1)?.final);
    const failed = ended.filter(job => job.plugin === pipelinePlugin && job.attempts.at(-1)!.status !== 'succeeded');
    const wanted = failed.length > 0 && dice.chance(0.6) ? failed : ended;
    const known = wanted.length > 0 ? dice.pick(wanted) : null;
    const job = known && !this.#isDamaged(known.id) ? findJob(this.#reader, parseId(known.id)!) : undefined;
    const payload = job?.input.stored;
    if (!job || !payload) return null;
    const { plugin, command } = job;
    const isRun = plugin === pipelinePlugin;
    const from = isRun && dice.chance(0.7) ? 'failed' : 'start';
    const request = rerunRequest(job, null, from);
    const { event, source, options } = request;
    const rerun = { of: job.jobId, from } as const;
    this.#asked.set(rerun.of, (this.#asked.get(rerun.of) ?? 0) + 1);
    const common = { submittedBy: again, source, ...(options && { options }) };
    if (!isRun)
      return {
        rerun,
        actor: 'job',
        message: { kind: 'submit', plugin, command, payloads: [payload], event, ...common },
      };
    const delivered = deliveredEvent(request);
    const run = { pipeline: command, payload, watch: false, ...(delivered && { event: delivered }) };
    return { rerun, actor: 'pipeline', message: { kind: 'start_run', ...run, ...common } };
  }

  answered(asked: AskedRerun, reply: SubmitReply | SubmitJobsReply): void {
    if (reply.kind === 'refused') {
      holds(
        asked.from === 'failed' || this.#mayBeGone(asked.of) || reply.refusal !== 'not_kept',
        () => `nothing is missing to run ${asked.of} again`,
      );
      return;
    }
    const id = 'id' in reply ? reply.id : reply.ids;
    if (id.length > 0) this.#made.set(formatId(id), asked);
  }

  /** Whether the payload of a job may be pruned before the job: it can be stored with a run around it, or with the job that it reruns. */
  #mayBeGone(id: string): boolean {
    const { run, rerun } = this.#commits.find(id)!.group;
    const origins = [run?.run, rerun?.of].flatMap(origin => (origin ? [formatId(origin)] : []));
    return origins.some(origin => this.#commits.prunedAt(origin) !== null || this.#mayBeGone(origin));
  }

  /** At the end: acknowledged reruns exist, and no job was rerun without a request. */
  ends(): void {
    const counts = new Map<string, number>();
    for (const { id, group } of this.#commits.jobs()) {
      if (group.rerun === null || group.submittedBy !== again || group.run !== null || group.parent !== null) continue;
      const of = formatId(group.rerun.of);
      const count = (counts.get(of) ?? 0) + 1;
      counts.set(of, count);
      holds(count <= (this.#asked.get(of) ?? 0), () => `${id} runs ${of} again, and nobody has asked for it`);
    }
    for (const [id, { of, from }] of this.#made) {
      const { rerun, options } = this.#commits.find(id)?.group ?? {};
      const isSo = rerun && formatId(rerun.of) === of && rerun.from === from;
      holds(isSo === true, () => `${id} was said to run ${of} again, and does not`);
      const old = this.#commits.find(of)?.group.options?.tags;
      holds(options?.tags === old, () => `${id} runs ${of} again with the tags ${options?.tags}, not ${old}`);
    }
  }
}
