// Actions over many jobs: callers start them, and steps are sent as the main thread sends them. Each action must take every job that
// matched at its moment, once, and no others.
import type { ActionStepReply, MomentReply } from '../../../actors/job/protocol.ts';
import {
  type ActionPlan,
  type ActionResult,
  type JobOperation,
  jobOperations,
  type Moment,
  readAction,
  type Selection,
  takenBy,
} from '../../../actors/job/records/action.ts';
import { headgatePlugin } from '../../../actors/job/records/job.ts';
import { NameTable } from '../../../actors/job/records/name-table.ts';
import { countMatches, nextMatches } from '../../../actors/job/views/matches.ts';
import { formatId, type JobId } from '../../../runtime/ids.ts';
import { pack } from '../../../runtime/packing.ts';
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import { Backfills } from './backfills.ts';
import { holds } from './broken.ts';
import type { CancelModel } from './cancel-model.ts';
import { type Commits, type KnownJob, partOf } from './commits.ts';
import type { Dice } from './dice.ts';
import { drawSelection, isSure, mayMatch, wordsOf } from './selections.ts';

/** The numbers of these asks begin here, so that they differ from those of callers and operators. */
const firstAsk = 2_000_000_000;
/** The most jobs of one step. */
const pageMax = 5;
const openMax = 3;

type Wanted = { readonly operation: JobOperation; readonly selection: Selection; readonly limit: number | null };
type Act = {
  /** The caller's name, used for this action alone. It is the `submitted_by` of the action's job, and of the jobs that the action makes. */
  readonly by: string;
  readonly plan: ActionPlan;
  /** The jobs that matched in the turn in which the ledger fixed the selection (`Moment`). */
  readonly matching: ReadonlySet<string>;
  /** The id in the answer; null until then. */
  id: string | null;
};
type Ask =
  | { readonly kind: 'moment'; readonly wanted: Wanted }
  | { readonly kind: 'start'; readonly act: Act }
  | { readonly kind: 'backfill' }
  | { readonly kind: 'step'; readonly by: string };

export class Many {
  readonly #reader: Reader;
  readonly #commits: Commits;
  readonly #cancels: CancelModel;
  readonly #dice: Dice;
  readonly #isDamaged: (id: string) => boolean;
  readonly #backfills: Backfills;
  readonly #asks = new Map<number, Ask>();
  readonly #acts: Act[] = [];
  /** Actions whose jobs are counted, but which have not been started. */
  readonly #counted: Act[] = [];
  /** Steps that were sent, and may be sent again. */
  readonly #sent: object[] = [];
  #asked = firstAsk;

  constructor(reader: Reader, commits: Commits, cancels: CancelModel, dice: Dice, isDamaged: (id: string) => boolean) {
    this.#reader = reader;
    this.#commits = commits;
    this.#cancels = cancels;
    this.#dice = dice;
    this.#backfills = new Backfills(reader, commits, dice);
    this.#isDamaged = isDamaged;
  }

  /** The process has ended: nobody is answered any more. */
  drop(): void {
    this.#asks.clear();
    this.#counted.length = 0;
    this.#sent.length = 0;
  }

  get isOpen(): boolean {
    return this.#open().length > 0;
  }

  /** The next message: of a caller, or the next step of an action. */
  next(): object {
    const counted = this.#counted.shift();
    if (counted) return this.#start(counted);
    const open = this.#open().length;
    if (open === 0 || (open < openMax && this.#dice.chance(0.2))) {
      const plan = this.#commits.schedules.areAny && this.#dice.chance(0.2) ? this.#backfills.next() : null;
      if (plan) return this.#startOf(plan, { kind: 'backfill' });
      const kind = 'ask_moment';
      return { kind, replyTo: this.#ask({ kind: 'moment', wanted: this.#wanted() }) };
    }
    if (this.#sent.length > 0 && this.#dice.chance(0.1)) return this.#dice.pick(this.#sent);
    return this.step();
  }

  /** The next step of an open action, with jobs that match as of the last commit. */
  step(): object {
    const id = this.#dice.pick(this.#open());
    const { plan, progress } = readAction(this.#reader, id)!;
    const { by } = plan;
    const after = progress.cursor && Buffer.from(progress.cursor);
    // The ledger finds the occurrences of a backfill itself, so the step has no ids.
    if (plan.backfill) {
      const ids = new Uint8Array(0);
      const step = { kind: 'action_step', id, after, ids, isLast: false, replyTo: this.#ask({ kind: 'backfill' }) };
      this.#sent.push({ ...step, replyTo: this.#ask({ kind: 'backfill' }) });
      return step;
    }
    const options = { ...this.#where(plan.selection, plan.moment), after };
    const { ids, isEnd } = done(nextMatches(options, 1 + this.#dice.below(pageMax)));
    const step = { kind: 'action_step', id, after, ids: Buffer.concat(ids), isLast: isEnd };
    // This copy, for sending the step again, has an ask of its own.
    this.#sent.push({ ...step, replyTo: this.#ask({ kind: 'step', by }) });
    return { ...step, replyTo: this.#ask({ kind: 'step', by }) };
  }

  #open(): JobId[] {
    return Array.from(this.#reader.keys('actions', {}), key => Buffer.from(key));
  }

  #where(selection: Selection, moment: Moment) {
    const words = wordsOf(selection, moment);
    return { reader: this.#reader, names: new NameTable(this.#reader), selection, moment, words };
  }

  #wanted(): Wanted {
    const dice = this.#dice;
    const operation = dice.pick(jobOperations);
    const selection = drawSelection(dice, operation, this.#commits);
    // Reruns are limited, because each makes another job.
    const limit = operation === 'rerun' || dice.chance(0.2) ? 1 + dice.below(6) : null;
    return { operation, selection, limit };
  }

  #ask(ask: Ask): ReplyTo {
    const replyTo = { thread: 'edge', ask: ++this.#asked };
    this.#asks.set(replyTo.ask, ask);
    return replyTo;
  }

  /** Takes an answer. Returns whether the question was asked by this class. */
  answered({ ask }: ReplyTo, value: unknown): boolean {
    if (ask <= firstAsk) return false;
    const asked = this.#asks.get(ask);
    this.#asks.delete(ask);
    const { kind } = value as { readonly kind: string };
    // A repeated step is answered several times.
    if (!asked || kind === 'refused' || asked.kind === 'backfill') return true;
    if (asked.kind === 'moment') this.#count(asked.wanted, (value as MomentReply).moment);
    else if (asked.kind === 'start') asked.act.id = formatId((value as { readonly id: JobId }).id);
    else this.#taken(asked.by, (value as ActionStepReply).cursor);
    return true;
  }

  /** Notes the jobs that a step has cancelled: no attempt of them may start. */
  #taken(name: string, cursor: JobId | null): void {
    const { plan, matching } = this.#acts.find(({ by }) => by === name)!;
    if (cursor === null || plan.operation !== 'cancel' || plan.selection.status !== null) return;
    for (const id of matching) if (id <= formatId(cursor)) this.#cancels.taken(id, this.#reader);
  }

  /** What matches is worked out from the commits alone, and must be what is counted. */
  #count({ operation, selection, limit }: Wanted, moment: Moment): void {
    const known = [...this.#commits.jobs()].filter(job => mayMatch(this.#commits, job, selection, moment));
    const matching = new Set(known.map(({ id }) => id));
    const { matched } = done(countMatches(this.#where(selection, moment)));
    const isSo = isSure(selection) ? matched === matching.size : matched <= matching.size;
    const text = JSON.stringify(selection);
    holds(isSo, () => `${matched} jobs are said to match, not ${matching.size}: ${text}`);
    const by = `action ${this.#acts.length + this.#counted.length + 1} ${this.#asked}`;
    const common = { searchedUs: wordsOf(selection, moment).searchedUs, perSecond: null, reason: null };
    const from = operation === 'rerun' && this.#dice.chance(0.5) ? { from: 'failed' as const } : {};
    const plan = { operation, ...from, selection, moment, limit, matched, by, ...common };
    this.#counted.push({ by, plan, matching, id: null });
  }

  #start(act: Act): object {
    this.#acts.push(act);
    if (act.plan.operation === 'cancel') this.#cancels.asks(act.matching);
    return this.#startOf(act.plan, { kind: 'start', act });
  }

  #startOf(plan: ActionPlan, ask: Ask): object {
    return { kind: 'start_action', plan, payload: pack({}), replyTo: this.#ask(ask) };
  }

  /** At the end: each action must have taken its jobs once. Returns the number of jobs. */
  ends(): number {
    let acted = this.#backfills.ends();
    const jobs = [...this.#commits.jobs()];
    for (const act of this.#acts) {
      const own = jobs.filter(job => job.plugin === headgatePlugin && job.group.submittedBy === act.by);
      const made = jobs.filter(({ plugin, group }) => isBy(act, group) && plugin !== headgatePlugin);
      holds(own.length <= 1, () => `${act.by} has begun ${own.length} times`);
      holds(
        act.id === null || own[0]?.id === act.id,
        () => `${act.by} was accepted as ${act.id}, which does not exist`,
      );
      holds(own.length === 1 || made.length === 0, () => `${act.by} was not accepted, and has run jobs again`);
      if (own.length === 1) acted += this.#actHolds(act, own[0]!, made);
    }
    return acted;
  }

  #actHolds({ by, plan, matching }: Act, own: KnownJob, made: readonly KnownJob[]): number {
    const { operation, limit, selection } = plan;
    const taken = made.map(({ group }) => formatId(group.rerun!.of));
    for (const [place, id] of taken.entries()) {
      holds(matching.has(id), () => `${by} has run ${id} again, which did not match when it was accepted`);
      holds(taken.indexOf(id) === place, () => `${by} has run ${id} again twice`);
    }
    if ([...matching, own.id].some(this.#isDamaged)) return 0;
    const { status, body } = own.attempts.at(-1)!;
    const result = partOf(body, 'result') as unknown as ActionResult;
    const { matched, done, failed, skipped } = result;
    const most = Math.min(plan.matched, limit ?? plan.matched);
    const count = takenBy(result);
    const isWhole = status === 'succeeded';
    const said = JSON.stringify({ done, failed, skipped });
    holds(matched === plan.matched, () => `${by} says that ${matched} jobs matched, not ${plan.matched}`);
    // Which jobs were queued and which were running at its moment cannot be told from the commits.
    const isSo = !isSure(selection) ? count <= matching.size : isWhole ? count === most : count <= most;
    holds(isSo, () => `${by} has taken ${said}, and not ${most} jobs`);
    if (operation !== 'rerun') return done;
    holds(done === taken.length, () => `${by} says that it has run ${done} jobs again, not ${taken.length}`);
    // The matching jobs that are still stored: nothing kept the action from taking these.
    const kept = [...matching].filter(id => this.#commits.prunedAt(id) === null).length;
    const isAll = !isWhole || limit !== null || !isSure(selection) || selection.status === null;
    const spared = skipped.not_kept ?? 0;
    holds(isAll || done + failed + spared >= kept, () => `${by} has taken ${said} of ${kept} jobs that are kept`);
    return done;
  }
}

function isBy({ by }: Act, { submittedBy, rerun, run, parent }: KnownJob['group']): boolean {
  return submittedBy === by && rerun !== null && run === null && parent === null;
}

function done<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
