// What needs attention: pauses, lanes that cannot work, jobs that have waited long, failing groups, and checks of the doctor that failed.
import type { ComponentChildren, JSX } from 'preact';
import { ago, count, counted } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Section, Time } from '../../parts/index.ts';
import { ResumeButton } from '../../parts/pause.tsx';
import { isHalfOpen, type PauseView, targetText } from '../../parts/pause-words.ts';
import type { FailureGroup, Overview } from './overview.ts';
import { RestoredNote, ResumeRestored, useWouldRun } from './restored.tsx';
import { isRestored, type WouldRun } from './would-run.ts';

/** Jobs that have waited longer than this need attention. */
const longWaitMs = 60_000;
/** Groups that failed within this time need attention. */
const recentFailureMs = 3_600_000;

/** The maximum number of groups that are shown here; the screen Failures has all. */
const groupsShownMax = 5;

type Notice = {
  readonly key: string;
  readonly kind: 'bad' | 'warn';
  readonly text: ComponentChildren;
  readonly action?: ComponentChildren;
};
type Doctor = {
  readonly checks: readonly { readonly name: string; readonly passed: boolean; readonly detail: string }[];
};

export function Attention({ overview, reload }: { overview: Overview; reload: () => void }): JSX.Element {
  const doctor = useResource<Doctor>(may('system:ro', 'system:rw') ? '/system/doctor' : null, { everyMs: 60_000 });
  const groups = overview.failure_groups ?? [];
  const would = useWouldRun(overview.pauses.some(isRestored));
  // The clock of the browser may be wrong, so the times of the service are compared with its own.
  const nowMs = Date.parse(overview.captured_at);
  const notices = [
    ...pausedNotices(overview, nowMs, would, reload),
    ...laneNotices(overview),
    ...waitNotices(overview, nowMs),
    ...doctorNotices(doctor.data),
    ...groupNotices(groups.slice(0, groupsShownMax), nowMs),
  ];
  return (
    <Section
      title="Attention"
      note={notices.length === 0 ? '' : counted(notices.length, 'notice')}
      actions={groups.length > groupsShownMax && <a href={href('failures')}>All failures</a>}
    >
      {notices.length === 0 ? (
        <p class="calm">
          <span aria-hidden="true">✓</span> Nothing needs attention.
        </p>
      ) : (
        <ul class="attention" aria-label="Attention">
          {notices.map(({ key, kind, text, action }) => (
            <li key={key} class={`attention-row attention-${kind}`}>
              <span class="attention-text">{text}</span>
              {action}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function pausedNotices(overview: Overview, nowMs: number, would: WouldRun | undefined, reload: () => void): Notice[] {
  return overview.pauses.map(pause => ({
    key: `pause ${targetText(pause.target)}`,
    kind: isUrgent(pause, nowMs) ? 'bad' : 'warn',
    text: (
      <>
        <PauseText pause={pause} nowMs={nowMs} held={heldBy(pause, overview)} />
        {isRestored(pause) && <RestoredNote would={would} />}
      </>
    ),
    action: isRestored(pause) ? (
      <ResumeRestored would={would} onDone={reload} />
    ) : (
      <ResumeButton target={pause.target} onDone={reload} />
    ),
  }));
}

/** Whether the pause stops the whole service, or comes from a breaker that is still open. */
function isUrgent(pause: PauseView, nowMs: number): boolean {
  return pause.target.kind === 'system' || (pause.by === 'breaker' && !isHalfOpen(pause, nowMs));
}

/** How many jobs wait for the end of the pause, as far as the overview knows. */
function heldBy({ target: { kind, name, command } }: PauseView, { queue, lanes }: Overview): number {
  if (kind === 'system') return queue.paused_count;
  if (kind === 'pipeline' || command !== undefined) return 0;
  const lane = lanes.find(({ plugin }) => plugin === name);
  return lane?.hold?.reason === 'paused' ? lane.held_count : 0;
}

function PauseText(props: { pause: PauseView; nowMs: number; held: number }): JSX.Element {
  const { pause, nowMs, held } = props;
  const { target, reason, by, since, until, reject } = pause;
  if (isHalfOpen(pause, nowMs))
    return (
      <>
        <strong>The breaker of {targetText(target)} is half open</strong>: the next job tries
        {reason !== undefined && <span class="muted"> {reason}</span>}
      </>
    );
  return (
    <>
      <strong>
        {by === 'breaker'
          ? `The breaker of ${targetText(target)} is open`
          : `${sentence(targetText(target))} is paused`}
      </strong>
      {reason !== undefined && `: ${reason}`}
      <span class="muted">
        {' '}
        {by === 'breaker' ? 'since' : `by ${by},`} <Time at={since} />
        {until !== undefined && (
          <>
            , {by === 'breaker' ? 'tries again' : 'ends'} <Time at={until} />
          </>
        )}
        {held > 0 && `, ${counted(held, 'job waits', 'jobs wait')}`}
        {reject && ', new calls are refused'}
      </span>
    </>
  );
}

function laneNotices({ lanes }: Overview): Notice[] {
  return lanes.flatMap(({ plugin, hold, isolated, held_count }) => {
    const found: Notice[] = [];
    const link = <a href={href('plugin', plugin)}>{plugin}</a>;
    if (hold !== undefined && hold.reason !== 'paused') {
      const text = (
        <>
          <strong>
            {count(held_count)} {held_count === 1 ? 'job' : 'jobs'} of {link} cannot run
          </strong>
          : {hold.detail}
        </>
      );
      found.push({ key: `hold ${plugin}`, kind: 'bad', text });
    }
    if (isolated) {
      const text = (
        <>
          <strong>{link} is isolated</strong>: its jobs run one at a time, because they have ended several hosts.
        </>
      );
      found.push({ key: `isolated ${plugin}`, kind: 'warn', text });
    }
    return found;
  });
}

function waitNotices({ lanes }: Overview, nowMs: number): Notice[] {
  return lanes.flatMap(({ plugin, oldest_queued_at: oldest, queued_count, hold }) => {
    if (oldest === null || hold !== undefined || nowMs - Date.parse(oldest) < longWaitMs) return [];
    const text = (
      <>
        <strong>
          The oldest job of <a href={href('jobs', null, { plugin, status: 'queued' })}>{plugin}</a> has waited{' '}
          {ago(new Date(oldest), nowMs).replace(' ago', '')}
        </strong>
        ; {counted(queued_count, 'job')} queued.
      </>
    );
    return [{ key: `wait ${plugin}`, kind: 'warn' as const, text }];
  });
}

function doctorNotices(doctor: Doctor | undefined): Notice[] {
  const failed = doctor?.checks.filter(({ passed }) => !passed) ?? [];
  return failed.map(({ name, detail }) => ({
    key: `doctor ${name}`,
    kind: 'bad',
    text: (
      <>
        <strong>
          <a href={href('doctor')}>{name}</a>
        </strong>
        : {detail}
      </>
    ),
  }));
}

function groupNotices(groups: readonly FailureGroup[], nowMs: number): Notice[] {
  const recent = groups.filter(({ last_at }) => nowMs - Date.parse(last_at) < recentFailureMs);
  return recent.map(({ fingerprint, plugin, command, pattern, count: jobs, last_at, sample }) => ({
    key: `group ${fingerprint}`,
    kind: 'bad',
    text: (
      <>
        <a href={href('jobs', null, { fingerprint })}>
          <strong>
            {plugin === 'pipeline'
              ? `${counted(jobs, 'run')} of ${command}`
              : `${counted(jobs, 'job')} of ${plugin} ${command}`}{' '}
            failed
          </strong>
        </a>
        : <span class="attention-pattern">{jobs === 1 ? sample.message : pattern}</span>
        <span class="muted">
          {' '}
          last <Time at={last_at} />
        </span>
      </>
    ),
  }));
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
