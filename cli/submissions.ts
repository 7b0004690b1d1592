// Jobs on their way to the ledger: what one poll of the sockets brought for one command, from one caller, is one message, with one answer.
import type { SubmitJobs, SubmitJobsReply, SubmitReply } from '../actors/job/protocol.ts';
import type { Submission } from '../http/engine.ts';
import { jobIdBytes } from '../runtime/ids.ts';
import type { Link } from '../runtime/link.ts';

type Gathering = {
  readonly message: Omit<SubmitJobs, 'replyTo' | 'payloads'> & { readonly payloads: Uint8Array[] };
  readonly reply: Promise<SubmitJobsReply>;
  readonly settle: (reply: Promise<SubmitJobsReply>) => void;
};

/** Messages that are looked at for one to join: what many callers sent in turns is not searched for each. */
export const lookBackMax = 16;

export class Submissions {
  readonly #link: Link;
  #gathered: Gathering[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  /** Resolves when the job is on disk, or is refused. */
  submit(submission: Submission): Promise<SubmitReply> {
    const { message, reply } = this.#alike(submission) ?? this.#gather(submission);
    const place = message.payloads.push(submission.payload) - 1;
    return reply.then(all => replyAt(all, place));
  }

  #alike(submission: Submission): Gathering | undefined {
    if (submission.idempotency) return undefined;
    const from = Math.max(0, this.#gathered.length - lookBackMax);
    for (let i = this.#gathered.length - 1; i >= from; i--) {
      if (isAlike(this.#gathered[i]!.message, submission)) return this.#gathered[i];
    }
    return undefined;
  }

  #gather({ payload: _, ...common }: Submission): Gathering {
    if (this.#gathered.length === 0) setImmediate(() => this.#send());
    let settle!: Gathering['settle'];
    const reply = new Promise<SubmitJobsReply>(resolve => {
      settle = resolve;
    });
    const gathering: Gathering = { message: { kind: 'submit', ...common, payloads: [] }, reply, settle };
    this.#gathered.push(gathering);
    return gathering;
  }

  #send(): void {
    const gathered = this.#gathered;
    this.#gathered = [];
    for (const { message, settle } of gathered) settle(this.#link.ask('job', message));
    this.#link.flush();
  }
}

/** Whether they can share a message: one with a key has an answer of its own. */
function isAlike(a: Omit<Submission, 'payload'>, b: Submission): boolean {
  return (
    a.plugin === b.plugin &&
    a.command === b.command &&
    a.submittedBy === b.submittedBy &&
    a.event?.type === b.event?.type &&
    a.event?.source === b.event?.source &&
    !a.idempotency
  );
}

function replyAt(all: SubmitJobsReply, place: number): SubmitReply {
  if (all.kind === 'refused') return all;
  const id = all.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
  return id.length > 0 ? { kind: 'accepted', id } : { kind: 'refused', refusal: 'queue_full' };
}
