// Submissions of jobs and runs to the ledger. Calls of one command by one caller that arrive in one turn of the loop become one
// message. A caller that disconnects before the message is sent leaves no job.
import type {
  EntryEvent,
  IdempotencyKey,
  RerunSource,
  SubmitJobs,
  SubmitJobsReply,
  SubmitReply,
} from '../actors/job/protocol.ts';
import { jobIdBytes } from '../runtime/ids.ts';
import type { Link, PendingAsk } from '../runtime/link.ts';

export type Submission = {
  readonly plugin: string;
  readonly command: string;
  /** Packed payload. */
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  readonly event: EntryEvent | null;
  readonly idempotency?: IdempotencyKey;
  readonly source?: RerunSource;
  readonly asker?: PendingAsk;
};

export type RunSubmission = {
  readonly pipeline: string;
  readonly payload: Uint8Array;
  readonly submittedBy: string;
  /** The event of a webhook delivery; absent: an API call. */
  readonly event?: EntryEvent;
  readonly idempotency?: IdempotencyKey;
  readonly source?: RerunSource;
  readonly asker?: PendingAsk;
};

type SubmissionBatch = {
  readonly message: Omit<SubmitJobs, 'replyTo' | 'payloads'> & { payloads: Uint8Array[] };
  /** The caller of each payload. */
  readonly askers: (PendingAsk | undefined)[];
  readonly reply: Promise<SubmitJobsReply>;
  readonly settle: (reply: SubmitJobsReply | Promise<SubmitJobsReply>) => void;
  bytes: number;
  /** The index of each payload in the message; -1: withdrawn. Null: no payload was withdrawn. */
  places: number[] | null;
};

/** Messages that are considered for joining, so that many interleaved callers do not cost a long search each. */
export const lookBackMax = 16;
/** Bytes of payloads that the ledger has not answered yet; beyond it submissions are refused. A single payload may be larger. */
export const waitingBytesMax = 256 * 2 ** 20;

const overloaded: SubmitReply = { kind: 'refused', refusal: 'overloaded' };
/** Never read: the caller has disconnected. */
const takenBack: SubmitReply = { kind: 'refused', refusal: 'unavailable' };

export class Submissions {
  readonly #link: Link;
  #gathered: SubmissionBatch[] = [];
  #waitingBytes = 0;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Resolves when the job is on disk or refused. */
  submit(submission: Submission): Promise<SubmitReply> {
    const { payload, asker } = submission;
    if (!this.#takes(payload)) return Promise.resolve(overloaded);
    const gathering = this.#alike(submission) ?? this.#gather(submission);
    gathering.bytes += payload.length;
    gathering.askers.push(asker);
    const place = gathering.message.payloads.push(payload) - 1;
    return gathering.reply.then(all => replyAt(all, gathering.places === null ? place : gathering.places[place]!));
  }

  /** As submit, for a run. */
  startRun({ asker, ...submission }: RunSubmission, watch: boolean): Promise<SubmitReply> {
    const { payload } = submission;
    if (!this.#takes(payload)) return Promise.resolve(overloaded);
    const message = { kind: 'start_run', ...submission, watch };
    const recall = asker && { asker, answer: takenBack };
    const reply = this.#link.ask<SubmitReply>('pipeline', message, recall);
    this.#freeAfter(reply, payload.length);
    return reply;
  }

  #takes({ length }: Uint8Array): boolean {
    if (this.#waitingBytes > 0 && this.#waitingBytes + length > waitingBytesMax) return false;
    this.#waitingBytes += length;
    return true;
  }

  #freeAfter(reply: Promise<unknown>, bytes: number): void {
    const free = () => {
      this.#waitingBytes -= bytes;
    };
    reply.then(free, free);
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
    let settle!: SubmissionBatch['settle'];
    const reply = new Promise<SubmitJobsReply>(resolve => {
      settle = resolve;
    });
    const message: SubmissionBatch['message'] = { kind: 'submit', ...common, payloads: [] };
    const gathering: SubmissionBatch = { message, askers: [], reply, settle, bytes: 0, places: null };
    this.#gathered.push(gathering);
    return gathering;
  }

  #send(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    for (const gathering of gathered) {
      if (gathering.askers.some(isGone)) takeBack(gathering);
      const { message, settle, reply, bytes } = gathering;
      this.#freeAfter(reply, bytes);
      settle(message.payloads.length === 0 ? noJobs : this.#link.ask('job', message));
    }
    this.#link.flush();
  }
}

const noJobs: SubmitJobsReply = { kind: 'accepted', ids: new Uint8Array(0) };

function isGone(asker: PendingAsk | undefined): boolean {
  return asker?.isGone === true;
}

function takeBack(gathering: SubmissionBatch): void {
  const { message, askers } = gathering;
  let kept = 0;
  gathering.places = askers.map(asker => (isGone(asker) ? -1 : kept++));
  message.payloads = message.payloads.filter((_, place) => !isGone(askers[place]));
}

/** Whether they can share a message. A submission with a key gets a reply of its own, and so does a rerun. */
function isAlike(a: Omit<Submission, 'payload'>, b: Submission): boolean {
  return (
    a.plugin === b.plugin &&
    a.command === b.command &&
    a.submittedBy === b.submittedBy &&
    a.event?.type === b.event?.type &&
    a.event?.source === b.event?.source &&
    a.event?.headers === undefined &&
    b.event?.headers === undefined &&
    !a.idempotency &&
    !a.source
  );
}

function replyAt(all: SubmitJobsReply, place: number): SubmitReply {
  if (all.kind === 'refused') return all;
  if (place < 0) return takenBack;
  const id = all.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
  return id.length > 0 ? { kind: 'accepted', id } : { kind: 'refused', refusal: 'queue_full' };
}
