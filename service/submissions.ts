// Submits jobs and runs to the ledger. In one iteration of the event loop, calls of one command by one caller with the same options usually share a
// message (`isAlike`, `lookBackMax`). If a caller disconnects before the message is sent, no job is created for its call.
import type {
  NewCalls,
  NewRun,
  RefusedWork,
  SubmitJobs,
  SubmitJobsReply,
  SubmitReply,
} from '../actors/job/protocol.ts';
import { areSameOptions } from '../actors/job/records/options.ts';
import { jobIdBytes } from '../runtime/ids.ts';
import type { Link, PendingAsk } from '../runtime/link.ts';
import type { StoredList } from '../runtime/packed-list.ts';

type Asked = { readonly asker?: PendingAsk };
/** Only schedules set these. */
type ScheduledField = 'context' | 'waitsUnderPause';

/** A job, with its packed payload. */
export type Submission = Omit<NewCalls, 'payloads' | ScheduledField> & Asked & { readonly payload: Uint8Array };

export type RunSubmission = Omit<NewRun, ScheduledField> & Asked;

/** The jobs of one request. One commit accepts as many of them as there is room for. */
export type BatchSubmission = Pick<NewCalls, 'submittedBy' | 'idempotency' | 'options'> & {
  /** The command or the pipeline that all these jobs run. */
  readonly target: Pick<Submission, 'plugin' | 'command' | 'event'> | Pick<RunSubmission, 'pipeline'>;
  /** The packed payloads, one for each job. */
  readonly payloads: StoredList;
  readonly asker: PendingAsk;
};

/** A submission that has no reply yet. */
type Waiting = {
  readonly payload: Uint8Array;
  readonly asker: PendingAsk | undefined;
  readonly resolve: (reply: SubmitReply) => void;
  readonly reject: (error: unknown) => void;
};

/** Submissions that are sent as one message. */
type SubmissionBatch = { readonly message: Omit<SubmitJobs, 'replyTo' | 'payloads'>; readonly waiting: Waiting[] };

/** A submission is compared with at most this many of the newest unsent messages, so submissions stay fast with many different callers. */
export const lookBackMax = 16;
/** The maximum total size of the payloads of unanswered submissions, in bytes. Further submissions are refused. A single payload may be larger. */
export const waitingBytesMax = 256 * 2 ** 20;

const overloaded: RefusedWork = { kind: 'refused', refusal: 'overloaded' };
/** The reply to a submission whose caller has disconnected. It is not sent to any caller. */
export const takenBack: RefusedWork = { kind: 'refused', refusal: 'unavailable' };

export class Submissions {
  readonly #link: Link;
  #gathered: SubmissionBatch[] = [];
  #waitingBytes = 0;

  constructor(link: Link) {
    this.#link = link;
  }

  submit(submission: Submission): Promise<SubmitReply> {
    const { payload, asker } = submission;
    if (!this.#takes(payload)) return Promise.resolve(overloaded);
    const { waiting } = this.#alike(submission) ?? this.#gather(submission);
    return new Promise((resolve, reject) => waiting.push({ payload, asker, resolve, reject }));
  }

  startRun({ asker, ...submission }: RunSubmission, watch: boolean): Promise<SubmitReply> {
    const { payload } = submission;
    if (!this.#takes(payload)) return Promise.resolve(overloaded);
    const message = { kind: 'start_run', ...submission, watch };
    const recall = asker && { asker, answer: takenBack };
    return this.#link.ask<SubmitReply>('pipeline', message, recall).finally(() => {
      this.#waitingBytes -= payload.length;
    });
  }

  submitAll({ target, asker, ...common }: BatchSubmission): Promise<SubmitJobsReply> {
    const { length } = common.payloads.all;
    if (!this.#takes({ length })) return Promise.resolve(overloaded);
    const isRun = 'pipeline' in target;
    const message = { kind: isRun ? 'start_runs' : 'submit_batch', ...target, ...common };
    const recall = { asker, answer: takenBack };
    return this.#link.ask<SubmitJobsReply>(isRun ? 'pipeline' : 'job', message, recall).finally(() => {
      this.#waitingBytes -= length;
    });
  }

  #takes({ length }: { readonly length: number }): boolean {
    if (this.#waitingBytes > 0 && this.#waitingBytes + length > waitingBytesMax) return false;
    this.#waitingBytes += length;
    return true;
  }

  #alike(submission: Submission): SubmissionBatch | undefined {
    if (submission.idempotency || submission.source) return undefined;
    const from = Math.max(0, this.#gathered.length - lookBackMax);
    for (let i = this.#gathered.length - 1; i >= from; i--) {
      if (isAlike(this.#gathered[i]!.message, submission)) return this.#gathered[i];
    }
    return undefined;
  }

  #gather({ payload: _, asker: __, ...common }: Submission): SubmissionBatch {
    if (this.#gathered.length === 0) setImmediate(() => this.#send());
    const batch: SubmissionBatch = { message: { kind: 'submit', ...common }, waiting: [] };
    this.#gathered.push(batch);
    return batch;
  }

  #send(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    for (const { message, waiting } of gathered) {
      const staying = waiting.filter(one => !this.#isTakenBack(one));
      if (staying.length > 0) void this.#ask(message, staying);
    }
    this.#link.flush();
  }

  #isTakenBack({ asker, payload, resolve }: Waiting): boolean {
    if (asker?.isGone !== true) return false;
    this.#waitingBytes -= payload.length;
    resolve(takenBack);
    return true;
  }

  async #ask(message: SubmissionBatch['message'], waiting: readonly Waiting[]): Promise<void> {
    const payloads = waiting.map(({ payload }) => payload);
    try {
      const reply = await this.#link.ask<SubmitJobsReply>('job', { ...message, payloads });
      for (let i = 0; i < waiting.length; i++) waiting[i]!.resolve(replyAt(reply, i));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
    for (const { length } of payloads) this.#waitingBytes -= length;
  }
}

/** Whether two submissions can share a message. A rerun, or a submission with an idempotency key, always has a message of its own. */
function isAlike(a: Omit<Submission, 'payload'>, b: Submission): boolean {
  return (
    a.plugin === b.plugin &&
    a.command === b.command &&
    a.submittedBy === b.submittedBy &&
    a.watch === b.watch &&
    a.event?.type === b.event?.type &&
    a.event?.source === b.event?.source &&
    a.event?.headers === undefined &&
    b.event?.headers === undefined &&
    areSameOptions(a.options, b.options) &&
    !a.idempotency &&
    !a.source
  );
}

function replyAt(all: SubmitJobsReply, place: number): SubmitReply {
  if (all.kind === 'refused') return all;
  const id = all.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
  return id.length > 0 ? { kind: 'accepted', id } : { kind: 'refused', refusal: all.rest! };
}
