// Pauses and their targets, as the API shows them.
import type { Pause, PauseTarget } from '../../actors/job/records/pause.ts';
import { timestamp } from './timestamp.ts';

export function pauseDocument(pause: Pause) {
  const { reason, by, sinceUs, untilUs, rejects } = pause;
  return {
    target: targetDocument(pause),
    ...(reason !== null && { reason }),
    by,
    since: timestamp(sinceUs),
    ...(untilUs !== null && { until: timestamp(untilUs) }),
    ...(rejects && { reject: true }),
  };
}

export function targetDocument({ kind, name, command }: PauseTarget) {
  return { kind, ...(kind !== 'system' && { name }), ...(command !== null && { command }) };
}
