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

export class Submissions {
  readonly #link: Link;
  #gathered: Gathering[] = [];
  /** Of those: what others may join, by what their jobs have in common. */
  readonly #open = new Map<string, Gathering>();

  constructor(link: Link) {
    this.#link = link;
  }

  /** Resolves when the job is on disk, or is refused. */
  submit(submission: Submission): Promise<SubmitReply> {
    const { plugin, command, submittedBy, event, idempotency } = submission;
    // What the jobs of a key were answered before is theirs alone.
    if (idempotency) return placeIn(this.#gather(submission), submission.payload);
    const name = `${plugin}\0${command}\0${submittedBy}\0${event ? `${event.type}\0${event.source}` : ''}`;
    let gathering = this.#open.get(name);
    if (!gathering) {
      gathering = this.#gather(submission);
      this.#open.set(name, gathering);
    }
    return placeIn(gathering, submission.payload);
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
    this.#open.clear();
    for (const { message, settle } of gathered) settle(this.#link.ask('job', message));
    this.#link.flush();
  }
}

function placeIn({ message, reply }: Gathering, payload: Uint8Array): Promise<SubmitReply> {
  const place = message.payloads.push(payload) - 1;
  return reply.then(all => replyAt(all, place));
}

function replyAt(all: SubmitJobsReply, place: number): SubmitReply {
  if (all.kind === 'refused') return all;
  const id = all.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
  return id.length > 0 ? { kind: 'accepted', id } : { kind: 'refused', refusal: 'queue_full' };
}
