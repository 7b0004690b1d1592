// A naive model of pipelines: recursion over whole values, no turns, no bytes. What the actor does must come out the same.
import type { Json } from '../../../../runtime/packing.ts';
import type { Outcome } from './stage.ts';

type Map = { [key: string]: Json };
export type Step = { id: string } & { [key: string]: unknown };
export type Pipeline = { name: string; on?: string; if?: unknown; steps: Step[] };
/** One job as it should come to be. */
export type Made = { readonly step: string; readonly payload: Json; readonly context: Json };
export type Run = { readonly status: 'succeeded' | 'failed'; readonly result: Json };

class Failed extends Error {}

/** A token, or the last state of one that has ended. */
type Item = { payload: Map; context: Map; result: Json; failed: boolean };
/** The part between two joins: whether the token has forked in it, and its context. */
type Segment = { forked: boolean; context: Map };

/** A value without errors and job ids, which depend on the order of events, for comparisons. */
export function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'error' && key !== 'job_id');
  return Object.fromEntries(kept.map(([key, each]) => [key, masked(each)]).sort(([a], [b]) => (a! < b! ? -1 : 1)));
}

export class Naive {
  readonly made: Made[] = [];
  readonly #pipelines: readonly Pipeline[];
  readonly #outcome: (step: string, payload: Json, context: Json) => Outcome;

  constructor(pipelines: readonly Pipeline[], outcome: (step: string, payload: Json, context: Json) => Outcome) {
    this.#pipelines = pipelines;
    this.#outcome = outcome;
  }

  run(name: string, payload: Map, context: Map = {}): Run {
    const pipeline = this.#pipelines.find(each => each.name === name)!;
    const entering = { payload, context, result: null, failed: false };
    if (!applies(pipeline.if, entering)) return { status: 'succeeded', result: null };
    try {
      const segment = { forked: false, context };
      const items = this.#sequence(pipeline.steps, entering, segment, true);
      const isList = endsForked(pipeline.steps) || items.length > 1;
      return { status: 'succeeded', result: isList ? items.map(item => item.result) : items[0]!.result };
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      return { status: 'failed', result: null };
    }
  }

  #sequence(steps: readonly Step[], entering: Item, around: Segment, isTop: boolean): Item[] {
    const lastJoin = steps.findLastIndex(step => step['join'] !== undefined);
    let segment: Segment = isTop || lastJoin < 0 ? around : { forked: false, context: entering.context };
    let items = [entering];
    steps.forEach((step, i) => {
      if (step['join'] !== undefined) {
        items = [this.#join(items, segment, step['collect'] === 'counts')];
        const context = items[0]!.context;
        segment = !isTop && i === lastJoin ? around : { forked: false, context };
      }
      items = items.flatMap(item => (item.failed ? [item] : this.#step(step, item, segment)));
    });
    return items;
  }

  #join(items: readonly Item[], segment: Segment, isCounting: boolean): Item {
    const failed = items.filter(item => item.failed).length;
    const counts = { succeeded: items.length - failed, failed };
    const payload: Map = isCounting ? counts : { results: items.map(item => item.result), ...counts };
    let context = segment.forked ? structuredClone(segment.context) : items[0]!.context;
    if (segment.forked) for (const item of items) context = mergeFirst(context, item.context);
    return { payload, context, result: payload, failed: false };
  }

  #step(step: Step, item: Item, segment: Segment): Item[] {
    if (!applies(step['if'], item)) return [item];
    if (step['steps']) return this.#sequence(step['steps'] as Step[], item, segment, false);
    if (step['split']) {
      fork(segment, item.context);
      return (step['split'] as Step[][]).flatMap(branch => this.#sequence(branch, item, segment, false));
    }
    const baggage = Object.entries((step['baggage'] ?? {}) as { [target: string]: string });
    const ofElement = baggage.filter(([, path]) => path === 'payload.item');
    const ofAll = baggage.filter(entry => !ofElement.includes(entry));
    const carrying = { ...item, context: withBaggage(ofAll, item) };
    if (step['foreach'] === undefined) return this.#child(step, carrying, carrying.payload, segment);
    const list = look(step['foreach'] as string, item);
    if (!Array.isArray(list)) throw new Failed();
    fork(segment, carrying.context);
    return list.flatMap((element, index) => {
      const own = { ...carrying, payload: { ...item.payload, item: element, index } };
      const context = withBaggage(ofElement, own);
      return this.#child(step, { ...own, context }, { item: element, index }, segment);
    });
  }

  /** `under`: the payload into which `with` is merged. */
  #child(step: Step, item: Item, under: Map, segment: Segment): Item[] {
    const payload = { ...under };
    let isMissing = false;
    for (const [key, template] of Object.entries((step['with'] ?? {}) as { [key: string]: string })) {
      const value = look(template.slice(1, -1), item);
      if (value === undefined) isMissing = true;
      else payload[key] = value;
    }
    const outcome = isMissing ? { error: 'missing' } : this.#end(step, payload, item.context);
    if (outcome.error !== undefined) {
      if (step['on_error'] !== 'continue') throw new Failed();
      return [{ ...item, result: { error: '', status: outcome.status ?? 'failed', job_id: '' }, failed: true }];
    }
    const result = outcome.result ?? null;
    const next = { context: item.context, result, failed: false };
    const { events } = outcome;
    for (const event of events ?? []) this.#trigger(event.type, event.payload as Map, item.context);
    if (!events || events.length === 0) return [{ ...next, payload: asMap(result) }];
    if (events.length > 1) fork(segment, item.context);
    return events.map(event => ({ ...next, payload: event.payload as Map }));
  }

  #trigger(type: string, payload: Map, context: Map): void {
    for (const pipeline of this.#pipelines) {
      if (pipeline.on !== type || !applies(pipeline.if, { payload, context })) continue;
      this.run(pipeline.name, payload, context);
    }
  }

  #end(step: Step, payload: Map, context: Map): Outcome {
    if (step['call']) {
      const run = this.run(step['call'] as string, payload, context);
      return run.status === 'failed' ? { error: '' } : { result: run.result };
    }
    this.made.push({ step: step.id, payload: masked(payload), context: masked(context) });
    return this.#outcome(step.id, payload, context);
  }
}

/** Whether there is a fork after the last join. */
function endsForked(steps: readonly Step[]): boolean {
  for (const step of steps.toReversed()) {
    if (step['foreach'] || step['split'] || (step['steps'] && endsForked(step['steps'] as Step[]))) return true;
    if (step['join'] !== undefined) return false;
  }
  return false;
}

function fork(segment: Segment, context: Map): void {
  if (segment.forked) return;
  segment.forked = true;
  segment.context = context;
}

function asMap(result: Json): Map {
  if (result === null) return {};
  return typeof result === 'object' && !Array.isArray(result) ? (result as Map) : { result };
}

function look(path: string, { payload, context }: Pick<Item, 'payload' | 'context'>): Json | undefined {
  let here: Json | undefined = { payload, context };
  for (const key of path.split('.')) here = (here as Map | undefined)?.[key];
  return here;
}

/** Evaluates a condition; supports only `{path, op: gt | regex, value}`. */
export function applies(condition: unknown, item: Pick<Item, 'payload' | 'context'>): boolean {
  if (condition === undefined) return true;
  const { path, op, value } = condition as { path: string; op: string; value: number | string };
  const found = look(path, item);
  if (op === 'regex') return typeof found === 'string' && new RegExp(value as string).test(found);
  return typeof found === 'number' && found > (value as number);
}

function withBaggage(baggage: readonly [string, string][], item: Item): Map {
  const context = structuredClone(item.context);
  for (const [target, path] of baggage) {
    const value = look(path, item);
    const [outer, inner] = target.split('.') as [string, string];
    if (value !== undefined) context[outer] = { ...(context[outer] as Map | undefined), [inner]: value };
  }
  return context;
}

/** Merges baggage; existing values win. All its targets are `outer.inner`, so everything below these two keys is one value. */
function mergeFirst(into: Map, from: Map): Map {
  const merged = { ...into };
  for (const [outer, inner] of Object.entries(from)) {
    merged[outer] = { ...(inner as Map), ...(merged[outer] as Map | undefined) };
  }
  return merged;
}
