// The state of a plugin: whether it runs, and if not, why.
import type { JSX } from 'preact';
import { Time } from '../../parts/index.ts';
import type { LaneView } from './plugin-data.ts';

type StateShown = { readonly symbol: string; readonly text: string; readonly kind: 'good' | 'idle' | 'warn' | 'bad' };

export function stateOf(lane: LaneView | undefined): StateShown {
  if (lane === undefined) return { symbol: '·', text: 'unknown', kind: 'idle' };
  if (lane.breaker === 'open') return { symbol: '✕', text: 'breaker open', kind: 'bad' };
  if (lane.hold) {
    const isPaused = lane.hold.reason === 'paused';
    return { symbol: isPaused ? '‖' : '✕', text: isPaused ? 'paused' : 'held', kind: isPaused ? 'warn' : 'bad' };
  }
  if (lane.breaker === 'half_open') return { symbol: '◐', text: 'breaker half open', kind: 'warn' };
  if (lane.isolated) return { symbol: '!', text: 'isolated', kind: 'warn' };
  if (lane.held_count > 0) return { symbol: '‖', text: 'some held', kind: 'warn' };
  return lane.active_count > 0
    ? { symbol: '◐', text: 'running', kind: 'good' }
    : { symbol: '○', text: 'idle', kind: 'idle' };
}

export function PluginState({ lane }: { lane: LaneView | undefined }): JSX.Element {
  const { symbol, text, kind } = stateOf(lane);
  return (
    <span class={`plugin-state state-${kind}`} {...(lane?.hold && { title: lane.hold.detail })}>
      <span aria-hidden="true">{symbol}</span> {text}
    </span>
  );
}

/** Why the jobs of the lane wait, in a sentence; absent if they do not. */
export function HoldNote({ lane }: { lane: LaneView | undefined }): JSX.Element | null {
  if (lane === undefined) return null;
  const { hold, breaker, isolated } = lane;
  if (!hold && !isolated && breaker !== 'half_open') return null;
  return (
    <div class="hold-note">
      {hold && (
        <p>
          All its jobs wait: {hold.detail}
          {hold.since && (
            <>
              {' '}
              (since <Time at={hold.since} />)
            </>
          )}
        </p>
      )}
      {breaker === 'half_open' && <p>The breaker is half open: one job tests whether the plugin works again.</p>}
      {isolated && <p>Its jobs run one at a time, because they have recently ended several hosts.</p>}
    </div>
  );
}
