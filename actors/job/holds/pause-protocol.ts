// The job actor's protocol for pauses: messages from the main thread.
import type { ReplyTo } from '../../../runtime/turn.ts';
import type { Pause, PauseTarget } from '../records/pause.ts';

/**
 * A requested pause (records/pause.ts). The ledger decides when it begins. `lastsUs`: how long the pause lasts. With `untilUs`: how far away
 * that is by the system's clock.
 */
export type PauseRequest = Omit<Pause, 'sinceUs' | 'endUs'>;
/** From the main thread: begin this pause. Answered with a PauseReply. */
export type PauseTargetNow = {
  readonly kind: 'pause';
  readonly replyTo: ReplyTo;
  readonly pause: PauseRequest;
};
/** From the main thread: end the pause of the target, if there is one. Answered with a PauseReply. */
export type ResumeTarget = {
  readonly kind: 'resume';
  readonly replyTo: ReplyTo;
  readonly target: PauseTarget;
  readonly by: string;
};
/** The pause that has begun or ended. Null: there was none to end. */
export type PauseReply = { readonly kind: 'pause'; readonly pause: Pause | null };
