// Time on the x axis of a run. All times are in µs since the start of the run, all places are shares of the width from 0 to 1.

export type TimeSpan = { readonly fromUs: number; readonly toUs: number };

/** A part of the axis on which time passes evenly. */
type Piece = TimeSpan & { readonly from: number; readonly to: number; readonly isIdle: boolean };

/** The share of the width that a collapsed stretch takes, and the most that all of them take together. */
const collapsedShare = 0.02;
const collapsedShareMax = 0.3;

export class TimeScale {
  readonly span: TimeSpan;
  readonly #pieces: readonly Piece[];

  /** `collapsed`: the stretches that take only a small fixed part of the width each. They must be in order and must not overlap. */
  constructor(span: TimeSpan, collapsed: readonly TimeSpan[] = []) {
    this.span = span;
    this.#pieces = piecesOf(span, collapsed);
  }

  /** The place of a time. Times outside of the span are outside of 0 to 1. */
  at(us: number): number {
    const pieces = this.#pieces;
    const piece = pieces.find(({ toUs }) => us <= toUs) ?? pieces.at(-1)!;
    const length = piece.toUs - piece.fromUs || 1;
    return piece.from + ((us - piece.fromUs) / length) * (piece.to - piece.from);
  }

  /** The time at a place. */
  usAt(place: number): number {
    const pieces = this.#pieces;
    const piece = pieces.find(({ to }) => place <= to) ?? pieces.at(-1)!;
    const width = piece.to - piece.from || 1;
    return piece.fromUs + ((place - piece.from) / width) * (piece.toUs - piece.fromUs);
  }

  /** The collapsed stretches, with their places. */
  get collapsed(): readonly Piece[] {
    return this.#pieces.filter(({ isIdle }) => isIdle);
  }

  /** Round times with even distances, about `wanted` of them, none inside a collapsed stretch. */
  ticks(wanted: number): number[] {
    const shownUs = this.#pieces.reduce((sum, { isIdle, fromUs, toUs }) => sum + (isIdle ? 0 : toUs - fromUs), 0);
    const step = roundStep(shownUs / Math.max(1, wanted));
    const ticks: number[] = [];
    for (const { isIdle, fromUs, toUs } of this.#pieces) {
      if (isIdle) continue;
      for (let us = Math.ceil(fromUs / step) * step; us <= toUs; us += step) ticks.push(us);
    }
    return [...new Set(ticks)];
  }
}

function piecesOf(span: TimeSpan, collapsed: readonly TimeSpan[]): Piece[] {
  const inside = collapsed
    .map(({ fromUs, toUs }) => ({ fromUs: Math.max(fromUs, span.fromUs), toUs: Math.min(toUs, span.toUs) }))
    .filter(({ fromUs, toUs }) => toUs > fromUs);
  const lengthUs = Math.max(1, span.toUs - span.fromUs);
  const idleUs = inside.reduce((sum, { fromUs, toUs }) => sum + toUs - fromUs, 0);
  const idleShare = inside.length === 0 ? 0 : Math.min(collapsedShareMax / inside.length, collapsedShare);
  // Nothing is collapsed if only idle time is in view, or none.
  if (idleUs >= lengthUs || idleUs === 0) return [{ ...span, from: 0, to: 1, isIdle: false }];
  const perUs = (1 - idleShare * inside.length) / (lengthUs - idleUs);
  const pieces: Piece[] = [];
  let at = span.fromUs;
  let place = 0;
  const add = (toUs: number, width: number, isIdle: boolean) => {
    if (toUs <= at) return;
    pieces.push({ fromUs: at, toUs, from: place, to: place + width, isIdle });
    at = toUs;
    place += width;
  };
  for (const { fromUs, toUs } of inside) {
    add(fromUs, (fromUs - at) * perUs, false);
    add(toUs, idleShare, true);
  }
  add(span.toUs, (span.toUs - at) * perUs, false);
  return pieces;
}

const second = 1_000_000;
/** Steps of an axis above one second that are round in minutes, hours and days. */
const longSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The smallest round step that is at least this long. */
export function roundStep(us: number): number {
  if (us > second) {
    const step = longSteps.find(seconds => seconds * second >= us);
    if (step !== undefined) return step * second;
    return Math.ceil(us / (86_400 * second)) * 86_400 * second;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(1, us)));
  return Math.max(1, [1, 2, 5, 10].map(factor => factor * power).find(step => step >= us)!);
}

/** The shortest stretch to which a user can zoom. */
const shortestUs = 1_000;

/** Lengthens or shortens the span by a factor, around a place (a share of the span). The result lies between 0 and `durationUs`. */
export function zoomed(span: TimeSpan, factor: number, place: number, durationUs: number): TimeSpan {
  const length = span.toUs - span.fromUs;
  const wanted = Math.min(durationUs, Math.max(length * factor, Math.min(shortestUs, durationUs)));
  const centre = span.fromUs + length * place;
  return within({ fromUs: centre - wanted * place, toUs: centre + wanted * (1 - place) }, durationUs);
}

/** The span moved by a share of its length. */
export function moved({ fromUs, toUs }: TimeSpan, share: number, durationUs: number): TimeSpan {
  const by = (toUs - fromUs) * share;
  return within({ fromUs: fromUs + by, toUs: toUs + by }, durationUs);
}

function within({ fromUs, toUs }: TimeSpan, durationUs: number): TimeSpan {
  const length = Math.min(durationUs, toUs - fromUs);
  const from = Math.min(Math.max(0, fromUs), durationUs - length);
  return { fromUs: Math.round(from), toUs: Math.round(from + length) };
}

/** The span that the URL names, such as `1200-3400.5` (ms since the start of the run); null if it names none that is usable. */
export function parseSpan(text: string | null, durationUs: number): TimeSpan | null {
  const [, from, to] = /^(\d+(?:\.\d{1,3})?)-(\d+(?:\.\d{1,3})?)$/.exec(text ?? '') ?? [];
  if (from === undefined || to === undefined) return null;
  const span = { fromUs: Number(from) * 1000, toUs: Math.min(Number(to) * 1000, durationUs) };
  return span.toUs > span.fromUs ? span : null;
}

/** A span of at least this share of the run counts as the whole run, because zooming in and out again rounds. */
const wholeShare = 0.999;

/** The span as the URL names it. Undefined for the whole run, for which the URL names no span. */
export function formatSpan({ fromUs, toUs }: TimeSpan, durationUs: number): string | undefined {
  if (toUs - fromUs >= durationUs * wholeShare) return undefined;
  return `${Math.round(fromUs) / 1000}-${Math.round(toUs) / 1000}`;
}
