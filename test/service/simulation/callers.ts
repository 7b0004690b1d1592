// The callers of a world: what they ask, what they are answered, and what must hold because of these answers, whatever fails.
import type { Observed } from '../../../actors/hub/protocol.ts';
import type { CancelReply } from '../../../actors/job/cancel/cancel-protocol.ts';
import type { IdempotencyKey, SubmitJobsReply, SubmitReply, WaitsReply } from '../../../actors/job/protocol.ts';
import { findBlock, groupOf } from '../../../actors/job/records/block.ts';
import { type Tags, tagsOf } from '../../../actors/job/records/tags.ts';
import { findJob } from '../../../actors/job/views/jobs.ts';
import type { VaultReply, VaultRequest } from '../../../actors/vault/protocol.ts';
import { formatId, indexOf, type JobId, jobIdBytes, parseId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import { batchMax, batchOf } from './batches.ts';
import { holds } from './broken.ts';
import type { AskedCancel, CancelModel } from './cancel-model.ts';
import type { KnownJob } from './commits.ts';
import { Dice } from './dice.ts';
import type { Look, Looks } from './looks.ts';
import type { AskedRerun, Reruns } from './reruns.ts';
import { called } from './setup.ts';
import type { Times } from './times.ts';
import type { VaultModel } from './vault-model.ts';

/** `maybe`: the process ended before the answer, so the job may or may not exist. */
export type Fate = { readonly kind: 'maybe' | 'refused' } | { readonly kind: 'accepted'; readonly id: string };
type Ask =
  | {
      readonly kind: 'submit';
      readonly plugin: string;
      /** Only for runs. */
      readonly pipeline?: string;
      readonly numbers: readonly number[];
      readonly watch: boolean;
      readonly tags: Tags | undefined;
    }
  | {
      readonly kind: 'run';
      readonly pipeline: string;
      readonly number: number;
      readonly watch: boolean;
      readonly tags: Tags | undefined;
    }
  | { readonly kind: 'vault'; readonly request: VaultRequest; readonly isAdmin: boolean }
  | { readonly kind: 'cancel'; readonly cancel: AskedCancel }
  | { readonly kind: 'rerun'; readonly rerun: AskedRerun }
  | { readonly kind: 'look'; readonly look: Look | null }
  | { readonly kind: 'stop' };
type Message = { readonly actor: 'job' | 'pipeline' | 'vault'; readonly message: object };
/** A request with a key, that may be repeated. */
type Keyed = { readonly message: Message; readonly ask: Ask; readonly untilUs: number };

/** How long a request with a key is repeated: less than the day for which the service remembers keys, because the clock may be set back. */
const repeatableUs = 20 * 3_600_000_000;

/** All jobs that ever existed. */
type KnownJobs = {
  readonly find: (id: string) => KnownJob | undefined;
  /** Whether its tree has lost a record. */
  readonly isDamaged: (id: string) => boolean;
};

export class Callers {
  /** What became of each payload, by its number. */
  readonly fates = new Map<number, Fate>();
  /** Jobs and runs that somebody waits for. */
  readonly waiting = new Set<string>();
  readonly #asks = new Map<number, Ask>();
  readonly #reader: Reader;
  readonly #dice: Dice;
  readonly #vault: VaultModel;
  readonly #known: KnownJobs;
  readonly #cancels: CancelModel;
  readonly #reruns: Reruns;
  readonly #times: Times;
  readonly #looks: Looks;
  readonly #batchDice: Dice;
  readonly #tagDice: Dice;
  readonly #keyed: Keyed[] = [];
  #asked = 0;
  #numbers = 0;

  constructor(
    reader: Reader,
    seed: number,
    vault: VaultModel,
    known: KnownJobs,
    cancels: CancelModel,
    reruns: Reruns,
    times: Times,
    looks: Looks,
  ) {
    this.#looks = looks;
    this.#times = times;
    this.#batchDice = new Dice(seed, 'batches');
    this.#tagDice = new Dice(seed, 'tags');
    this.#reruns = reruns;
    this.#cancels = cancels;
    this.#reader = reader;
    this.#dice = new Dice(seed, 'callers');
    this.#vault = vault;
    this.#known = known;
  }

  /** Asks that have no answer yet. */
  get unanswered(): number {
    return this.#asks.size;
  }

  /** The process has ended: nobody is answered any more, and nobody waits. */
  drop(): void {
    this.#asks.clear();
    this.waiting.clear();
  }

  next(nowUs: number): Message {
    const dice = this.#dice;
    const kind = dice.below(20);
    if (kind < 9) return this.#submit(nowUs);
    if (kind < 13) return this.#run(nowUs);
    if (kind < 15 && this.#keyed.length > 0) return this.#repeat(nowUs);
    if (kind < 17) return this.#callVault();
    if (kind < 18 && this.waiting.size > 0) this.#leave();
    return this.#look();
  }

  #submit(nowUs: number): Message {
    const dice = this.#dice;
    const plugin = dice.chance(0.02) ? 'nobody' : dice.pick([...called, 'echo']);
    const key = dice.chance(0.15) ? this.#newKey() : null;
    const count = key || dice.chance(0.6) ? 1 : 1 + dice.below(12);
    const numbers = Array.from({ length: count }, () => ++this.#numbers);
    const payloads = numbers.map(n =>
      pack(plugin === 'echo' ? { n, left: dice.below(4), width: 1 + dice.below(2) } : { n, k: n % 7 }),
    );
    for (const n of numbers) this.fates.set(n, { kind: 'maybe' });
    const watch = numbers[0]! % 3 === 0;
    const command = (plugin === 'keeper' || plugin === 'throng') && dice.chance(0.3) ? 'poll' : 'handle';
    const event = command === 'handle' ? { type: 'api.trigger', source: 'api' } : null;
    const tags = this.#tags();
    const message = {
      kind: 'submit',
      plugin,
      command,
      payloads,
      submittedBy: dice.pick(['x', 'y']),
      event,
      ...(watch && { watch }),
      options: { ...this.#times.options().options, ...(tags && { tags }) },
      ...(key && { idempotency: key }),
    };
    return this.#send({ kind: 'submit', plugin, numbers, watch, tags }, 'job', message, key, nowUs);
  }

  #run(nowUs: number): Message {
    const dice = this.#dice;
    const number = ++this.#numbers;
    const pipeline = dice.chance(0.03) ? 'nothing' : dice.pick(['p', 'p', 'p', 'q', 'r', 's']);
    const key = dice.chance(0.15) ? this.#newKey() : null;
    const list = Array.from({ length: dice.below(4) }, () => dice.below(9));
    const watch = dice.chance(0.5);
    const tags = this.#tags();
    this.fates.set(number, { kind: 'maybe' });
    const payload = pack({ n: number, k: dice.below(8), list });
    const message = {
      kind: 'start_run',
      pipeline,
      payload,
      submittedBy: dice.pick(['x', 'y']),
      watch,
      options: { ...this.#times.options().options, ...(tags && { tags }) },
      ...(key && { idempotency: key }),
    };
    return this.#send({ kind: 'run', pipeline, number, watch, tags }, 'pipeline', message, key, nowUs);
  }

  /** Somebody calls a command or a pipeline many times in one request. */
  batch(nowUs: number): Message[] {
    const dice = this.#batchDice;
    const numbers = Array.from({ length: 1 + dice.below(batchMax) }, () => ++this.#numbers);
    for (const n of numbers) this.fates.set(n, { kind: 'maybe' });
    const key = dice.chance(0.3) ? this.#newKey(dice) : null;
    const tags = this.#tags();
    const { plugin, pipeline, actor, message } = batchOf(dice, numbers);
    const options = { ...(key && { idempotency: key }), ...(tags && { options: { tags } }) };
    const ask = { kind: 'submit', plugin, ...(pipeline && { pipeline }), numbers, watch: false, tags } as const;
    return [this.#send(ask, actor, { ...message, ...options }, key, nowUs)];
  }

  #tags(): Tags | undefined {
    return this.#tagDice.pick([undefined, undefined, tagsOf({ a: '1' }), tagsOf({ a: '1', b: '2' })]);
  }

  #newKey(dice = this.#dice): IdempotencyKey {
    return { key: dice.bytes(16), request: dice.bytes(16) };
  }

  /** The same request with its key, or another one with the same key. */
  #repeat(nowUs: number): Message {
    const { message, ask, untilUs } = this.#dice.pick(this.#keyed);
    if (untilUs < nowUs) return this.#look();
    return this.#send(ask, message.actor, message.message, null, nowUs);
  }

  #callVault(): Message {
    const dice = this.#dice;
    const name = dice.pick(['keeper', 'a', 'program', 'other']);
    const secret = dice.pick(['one', 'two', 'three']);
    const value = `value ${++this.#numbers}`;
    const request = dice.pick<VaultRequest>([
      { op: 'principal.register', name, principalKind: dice.pick(['plugin', 'plugin', 'consumer']) },
      { op: 'secret.set', name: secret, value, grants: [dice.pick(['keeper', 'a'])] },
      { op: 'secret.set', name: secret, pattern: 'auto', grants: ['keeper', 'program'] },
      { op: 'secret.roll', name: secret, value },
      { op: 'secret.revoke', name: secret },
      ...(dice.chance(0.2) ? [{ op: 'principal.revoke', name: 'program' } as const] : []),
      { op: 'principal.purge', name: dice.pick(['program', 'other']) },
      { op: 'list' },
    ]);
    const isAdmin = dice.chance(0.9);
    const presented = isAdmin ? this.#vault.adminDigest : 'somebody';
    return this.#send({ kind: 'vault', request, isAdmin }, 'vault', { kind: 'call', presented, request }, null, 0);
  }

  /** Somebody cancels a job or a run, if there is one. */
  cancel(): Message[] {
    const cancel = this.#cancels.pick(this.#dice);
    if (cancel === null) return [];
    const reason = this.#dice.pick([null, 'enough']);
    const force = this.#dice.chance(0.2);
    if (force) this.#cancels.forced.add(cancel.id);
    const message = { kind: 'cancel', id: parseId(cancel.id)!, by: 'x', reason, detached: cancel.detached, force };
    return [this.#send({ kind: 'cancel', cancel }, 'job', message, null, 0)];
  }

  /** Somebody runs an ended job or run again, if there is one. */
  rerun(): Message[] {
    const request = this.#reruns.next();
    if (request === null) return [];
    const { actor, message, rerun } = request;
    return [this.#send({ kind: 'rerun', rerun }, actor, message, null, 0)];
  }

  /** A caller that waits for a job goes away. The ledger is not told. */
  #leave(): void {
    this.waiting.delete(this.#dice.pick([...this.waiting]));
  }

  #look(): Message {
    const { id } = [...this.fates.values()].findLast(fate => fate.kind === 'accepted') ?? {};
    if (id && this.#dice.chance(0.5)) {
      const look = this.#looks.next();
      return this.#send({ kind: 'look', look }, 'job', { kind: 'ask_waits', id: look?.id ?? parseId(id)! }, null, 0);
    }
    const message = { kind: this.#dice.pick(['ask_queue', 'ask_held']) };
    return this.#send({ kind: 'look', look: null }, 'job', message, null, 0);
  }

  #send(ask: Ask, actor: Message['actor'], message: object, key: IdempotencyKey | null, nowUs: number): Message {
    const replyTo = { ask: ++this.#asked };
    this.#asks.set(replyTo.ask, ask);
    if (key) this.#keyed.push({ message: { actor, message }, ask, untilUs: nowUs + repeatableUs });
    return { actor, message: { ...message, replyTo } };
  }

  /** Somebody stops the service gracefully. */
  stop(): ReplyTo {
    const replyTo = { ask: ++this.#asked };
    this.#asks.set(replyTo.ask, { kind: 'stop' });
    return replyTo;
  }

  /** A message whose handling throws; it must be answered all the same. */
  poison(): Message {
    const { actor, message } = this.#submit(0);
    const thrower = {
      get payloads(): never {
        throw new Error('poisoned');
      },
    };
    return { actor, message: Object.defineProperties({ ...message }, Object.getOwnPropertyDescriptors(thrower)) };
  }

  /** Takes an answer. `isOver`: the disk has failed, so it is unknown what was written, and a refused request may still have made a job. */
  answered(to: ReplyTo, value: unknown, isOver: boolean): void {
    const ask = this.#asks.get(to.ask);
    holds(ask !== undefined, () => `ask ${to.ask} is answered twice, or was never asked: ${JSON.stringify(value)}`);
    this.#asks.delete(to.ask);
    if (isOver) return;
    if (ask!.kind === 'submit') this.#submitted(ask!, value as SubmitJobsReply);
    else if (ask!.kind === 'run') this.#began(ask!, value as SubmitReply);
    else if (ask!.kind === 'cancel') this.#cancels.answered(ask!.cancel, value as CancelReply, this.#reader);
    else if (ask!.kind === 'rerun') this.#reruns.answered(ask!.rerun, value as SubmitReply | SubmitJobsReply);
    else if (ask!.kind === 'look') ask!.look && this.#looks.answered(ask!.look, value as WaitsReply);
    else if (ask!.kind === 'vault') this.#vault.answered(ask!.request, ask!.isAdmin, value as VaultReply);
  }

  #submitted(ask: Extract<Ask, { kind: 'submit' }>, reply: SubmitJobsReply): void {
    const { plugin, pipeline, numbers, watch, tags } = ask;
    const ids = reply.kind === 'accepted' ? reply.ids : new Uint8Array(0);
    for (const [place, number] of numbers.entries()) {
      const id = ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes);
      this.#settleFate(number, id.length > 0 ? id : null, plugin, pipeline, tags);
      if (watch && id.length > 0) this.#wait(id);
    }
  }

  #began({ pipeline, number, watch, tags }: Extract<Ask, { kind: 'run' }>, reply: SubmitReply): void {
    const id = reply.kind === 'accepted' ? reply.id : null;
    this.#settleFate(number, id, 'pipeline', pipeline, tags);
    if (id && watch) this.#wait(id);
  }

  #wait(id: JobId): void {
    const status = findJob(this.#reader, id)?.status;
    if (status === 'queued' || status === 'running') this.waiting.add(formatId(id));
  }

  /** A job that was acknowledged must be on disk. */
  #settleFate(
    number: number,
    id: JobId | null,
    plugin: string,
    command: string | undefined,
    tags: Tags | undefined,
  ): void {
    const known = this.fates.get(number)!;
    if (id === null) {
      // A repeated request with a key may be refused although the first one was, or may have been, accepted.
      if (known.kind === 'maybe' && !this.#isKeyed(number)) this.fates.set(number, { kind: 'refused' });
      return;
    }
    const text = formatId(id);
    holds(
      known.kind !== 'accepted' || known.id === text,
      () => `request ${number} made ${text} beside ${JSON.stringify(known)}`,
    );
    this.fates.set(number, { kind: 'accepted', id: text });
    const block = findBlock(this.#reader, id);
    // The answer to a repeated request may name a job that retention has removed.
    if (!block && this.#known.find(text) !== undefined) return;
    holds(block !== undefined, () => `the job ${text} was acknowledged, and is not on disk`);
    const { n } = unpack<{ n: number }>(block!.payload(indexOf(id)));
    const isSame = n === number && block!.plugin === plugin && (command === undefined || block!.command === command);
    holds(isSame, () => `the job ${text} is not the one that was asked for`);
    const { parent, options } = groupOf(block!, indexOf(id)).group;
    holds(parent === null, () => `the job ${text} has a parent`);
    holds(options?.tags === tags, () => `the job ${text} has the tags ${options?.tags}, not ${tags}`);
  }

  #isKeyed(number: number): boolean {
    return this.#keyed.some(({ ask }) =>
      ask.kind === 'submit' ? ask.numbers.includes(number) : ask.kind === 'run' && ask.number === number,
    );
  }

  /** A message to an actor of another thread. */
  told(actor: string, message: unknown): void {
    if (actor === 'hub') this.#observed(message as Observed);
    else if ((message as { kind: string }).kind === 'job_settled') this.#over(formatId((message as { id: JobId }).id));
  }

  #over(id: string): void {
    const status = findJob(this.#reader, parseId(id)!)?.status;
    const isOver = status !== 'running' && status !== 'queued';
    // For a run whose record cannot be decoded, waiting ends although the run has not.
    holds(isOver || this.#known.isDamaged(id), () => `the job ${id} is said to have settled, and is ${status}`);
    this.waiting.delete(id);
  }

  #observed({ groups }: Observed): void {
    for (const group of groups) {
      if (group.kind !== 'jobs') continue;
      const wanted = /^job\.(?:completed|failed|timed_out|dead|cancelled)$/.test(group.type)
        ? group.type.slice(4).replace('completed', 'succeeded')
        : null;
      for (let at = 0; at < group.ids.length; at += jobIdBytes) {
        const job = this.#known.find(formatId(group.ids.subarray(at, at + jobIdBytes)));
        holds(job !== undefined, () => `${group.type} is told of a job that is not on disk`);
        const last = job!.attempts.at(-1);
        const status = last?.final ? last.status : 'open';
        const isRun = group.plugin === 'pipeline' && wanted === 'failed';
        const isSo = wanted === null || status === wanted || (isRun && status === 'dead');
        holds(isSo, () => `${group.type} is told of ${job!.id}, which is ${status}`);
      }
    }
  }
}
