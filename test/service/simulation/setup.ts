// What the service of a world is configured with: a fixed cast of plugins, and pipelines that the seed draws, and draws again for some reloads.
import type { Config, Manifest, PluginInstance } from '../../../config/config.ts';
import { command, plugin as instance } from '../../unit/actors/job/instances.ts';
import { checkPipelines } from '../../unit/actors/pipeline/checked.ts';
import type { Pipeline, Step } from '../../unit/actors/pipeline/naive.ts';
import type { KnownJob } from './commits.ts';
import { Dice } from './dice.ts';
import { schedulesOf } from './schedule-model.ts';

const hourMs = 3_600_000;
export const dayUs = 24 * hourMs * 1000;

/** The deadlines that pipelines have. */
export const deadlinesMs = [3_000, 60_000] as const;

/** A pipeline as its author wrote it. */
export type Authored = Pipeline & { readonly on_hook?: string } & Limits;
/** The phases of a run, and time limits. */
type Limits = {
  readonly deadline?: string;
  readonly on_failure?: Step[];
  readonly finally?: Step[];
  readonly phase_timeout?: string;
};
export type Generation = { readonly pipelines: readonly Authored[]; readonly config: Config };

/** Plugins that pipelines use: each may be retried often enough to outlast its own failures and some lost hosts. */
const inPipelines = ['a', 'a', 'a', 'single', 'program', 'keeper'] as const;
/** Plugins that callers call. */
export const called = [
  ...inPipelines,
  'careful',
  'stubborn',
  'killer',
  'tally',
  'throng',
  'throng',
  'shy',
  'timid',
  'served',
] as const;

function plugin(name: string, manifest: Partial<Manifest> = {}, more: Partial<PluginInstance> = {}): PluginInstance {
  const retry = { attemptsMax: 6, backoffBaseMs: 1000, backoffMaxMs: 60_000 };
  const plain = instance(name, { retry, ...more }, manifest.commands);
  return { ...plain, manifest: { ...plain.manifest, ...manifest } };
}

const few = (attemptsMax: number) => ({ retry: { attemptsMax, backoffBaseMs: 1, backoffMaxMs: 10 } });
const cast: readonly PluginInstance[] = [
  plugin('a'),
  plugin('careful', { commands: [command('handle', { retrySafe: false })] }),
  plugin('echo'),
  plugin('keeper', { commands: [command('handle'), command('poll')] }),
  plugin('killer', {}, few(3)),
  plugin('program', { runtime: 'process' }),
  plugin('served', { runtime: 'process', persistent: { jobsMax: null, ageMs: null } }),
  plugin('shy', { concurrencySafe: false }, { parallelism: 1 }),
  plugin('single', {}, { parallelism: 1 }),
  plugin('stubborn', {}, { ...few(1), breaker: { failures: 2, of: 4, forMs: 2_000 } }),
  plugin('tally', {}, { breaker: { failures: 3, of: 3, forMs: 60_000 } }),
  plugin('throng', { commands: [command('handle'), command('poll')] }, { parallelism: 5, concurrency: { handle: 3 } }),
  plugin('timid', { name: 'shy', concurrencySafe: false }, { parallelism: 1 }),
];

/** The generations of a world, drawn from its seed. Requests for the same generation get the same object. */
export class Setups {
  readonly #seed: number;
  readonly #all: Generation[] = [];
  #drawn = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  of(generation: number): Generation {
    this.#all[generation] ??= setupOf(this.#seed, generation);
    return this.#all[generation];
  }

  get newest(): Generation {
    return this.of(this.#drawn);
  }

  next(): Generation {
    return this.of(++this.#drawn);
  }

  /** How many attempts the job may have, and whether it may be retried. */
  attemptsOf({ plugin, group: { stepId } }: Pick<KnownJob, 'plugin' | 'group'>) {
    const { retry, manifest } = this.of(0).config.plugins[plugin]!;
    const attemptsMax = (stepId && retryOf(this.#seed, stepId)) || retry.attemptsMax;
    return { attemptsMax, retrySafe: manifest.commands[0]!.retrySafe };
  }
}

function setupOf(seed: number, generation: number): Generation {
  const fixed = new Dice(seed, 'settings');
  const settings = {
    workersMax: 1 + fixed.below(3),
    queueDepthMax: fixed.pick([1_000_000, 1_000_000, 60]),
    waitingMax: fixed.pick([1_000_000, 1_000_000, 40]),
    jobsPerRootMax: fixed.pick([10_000_000, 10_000_000, 12]),
  };
  const retention = {
    jobsMs: fixed.pick([30 * 24 * hourMs, 30 * 24 * hourMs, 60_000]),
    jobsMax: fixed.pick([1e9, 1e9, 50]),
    heldMs: fixed.pick([30 * 24 * hourMs, hourMs]),
  };
  const pipelines = pipelinesOf(
    new Dice(seed, `pipelines ${generation}`),
    new Dice(seed, 'listeners'),
    new Dice(seed, 'telling'),
  ).map(pipeline => {
    const dice = new Dice(seed, `limits ${generation} ${pipeline.name}`);
    return limited(seed, dice, new Dice(seed, `phase calls ${generation} ${pipeline.name}`), pipeline);
  });
  const known = Object.fromEntries(cast.map(({ name, manifest }) => [name, manifest.commands.map(({ name }) => name)]));
  const checked = checkPipelines(pipelines, known);
  if (checked.problems.length > 0) throw new Error(checked.problems.join('\n'));
  const config = {
    service: settings,
    state: { path: '/state', retention, log: { segmentBytes: 2 ** 20, churnBytes: 2 ** 24 } },
    plugins: Object.fromEntries(cast.map(instance => [instance.name, instance])),
    disabledPlugins: {},
    unusablePlugins: [],
    pipelines: checked.pipelines,
    schedules: schedulesOf(new Dice(seed, 'schedules')),
    vault: { keyFile: '/state/vault.key', auditRetentionMs: fixed.pick([60_000, hourMs]), auditExport: null },
    backups: { everyMs: null, keep: 7, into: '/backups', log: false },
  } as unknown as Config;
  return { pipelines, config };
}

/** The configuration without one of its plugins, or of their commands. */
export function without({ config, pipelines }: Generation, dice: Dice): Generation {
  const gone = dice.pick(Object.keys(config.plugins));
  const { [gone]: removed, ...plugins } = config.plugins;
  if (dice.chance(0.4)) return { pipelines, config: { ...config, plugins } };
  if (dice.chance(0.3))
    return { pipelines, config: { ...config, plugins, disabledPlugins: { [gone]: { config: {} } } } };
  const { manifest } = removed!;
  const bare = { ...removed!, manifest: { ...manifest, commands: [] } };
  return { pipelines, config: { ...config, plugins: { ...plugins, [gone]: bare } } };
}

/** The generation without schedules, which would fire for ever. */
export function withoutSchedules({ pipelines, config }: Generation): Generation {
  return { pipelines, config: { ...config, schedules: [] } };
}

/** The attempts that `retry` of a step allows, the same in every generation; null: it has none. */
function retryOf(seed: number, stepId: string): number | null {
  const dice = new Dice(seed, `retry ${stepId}`);
  return dice.chance(0.15) ? 2 + dice.below(6) : null;
}

/** Some pipelines have phases and a deadline, some steps a retry policy, a timeout or `fail_fast: false`. */
function limited(seed: number, dice: Dice, calls: Dice, pipeline: Authored): Authored {
  const { name } = pipeline;
  const steps = pipeline.steps.map(step => limitedStep(seed, dice, step));
  // Pipelines that events and hooks start have no phases and no deadline.
  if (!['p', 'q', 'r'].includes(name)) return { ...pipeline, steps };
  const phase = (id: string): Step[] => {
    const foreach = dice.chance(0.3) ? { foreach: 'payload.run.payload.list' } : {};
    const uses = dice.pick(inPipelines);
    const target = name !== 'r' && calls.chance(0.2) ? { call: 'r' } : { uses };
    const first = { id: `${name}${id}0`, ...target, ...foreach, on_error: 'continue' };
    const all = dice.chance(0.3) ? [first, { id: `${name}${id}1`, uses: 'a', join: 'all' }] : [first];
    return all.map(step => limitedStep(seed, dice, step));
  };
  const phases = {
    ...(dice.chance(0.3) && { on_failure: phase('x') }),
    ...(dice.chance(0.4) && { finally: phase('f') }),
  };
  const timeout = Object.keys(phases).length > 0 && dice.chance(0.3) ? { phase_timeout: '2s' } : {};
  return {
    ...pipeline,
    steps,
    ...(dice.chance(0.2) && { deadline: `${dice.pick(deadlinesMs)}ms` }),
    ...phases,
    ...timeout,
  };
}

function limitedStep(seed: number, dice: Dice, step: Step): Step {
  const inner = (each: Step) => limitedStep(seed, dice, each);
  if (step['steps']) return { ...step, steps: (step['steps'] as Step[]).map(inner) };
  if (step['split']) return { ...step, split: (step['split'] as Step[][]).map(branch => branch.map(inner)) };
  const attempts = retryOf(seed, step.id);
  const isUsing = step['uses'] !== undefined;
  return {
    ...step,
    ...(step['foreach'] !== undefined && dice.chance(0.25) && { fail_fast: false, on_error: 'fail' }),
    ...(isUsing && attempts !== null && { retry: { max_attempts: attempts, backoff_base: '1ms' } }),
    ...(isUsing && dice.chance(0.1) && { timeout: '10s' }),
    ...(!isUsing && dice.chance(0.15) && { timeout: '3s' }),
  };
}

/** `p` calls `q` and `r`, `q` calls `r`. The last five are started by events and by hooks, and are the same in every generation. */
function pipelinesOf(dice: Dice, fixed: Dice, telling: Dice): Authored[] {
  const hasHook = fixed.chance(0.3);
  const runHook = telling.pick([null, null, 'pipeline.completed', 'pipeline.failed']);
  const areTwo = telling.chance(0.3);
  return [
    { name: 'p', steps: stepsOf(dice, ['q', 'r'], 'p', 0) },
    { name: 'q', steps: stepsOf(dice, ['r'], 'q', 0), ...(dice.chance(0.3) && { if: conditionOf(dice) }) },
    { name: 'r', steps: stepsOf(dice, [], 'r', 0) },
    {
      name: 's',
      on: 'e',
      steps: [{ id: 's0', uses: 'a', on_error: 'continue' }],
      ...(fixed.chance(0.3) && { if: conditionOf(fixed) }),
    },
    { name: 'too', ...(areTwo && { on: 'e' }), steps: [{ id: 'u0', uses: 'echo' }] },
    { name: 'hear', on: 'told', steps: [{ id: 'h0', uses: 'echo' }] },
    { name: 'mourn', ...(hasHook && { on_hook: 'job.failed' }), steps: [{ id: 'm0', uses: 'a' }] },
    { name: 'tell', ...(runHook && { on_hook: runHook }), steps: [{ id: 't0', uses: 'a' }] },
  ];
}

const paths = ['payload.k', 'payload.list', 'payload.item', 'context.b.x'];
const depthMax = 2;

function stepsOf(dice: Dice, callable: readonly string[], prefix: string, depth: number): Step[] {
  return Array.from({ length: 1 + dice.below(3) }, (_, i) => stepOf(dice, callable, `${prefix}${i}`, depth, i === 0));
}

function stepOf(dice: Dice, callable: readonly string[], id: string, depth: number, isFirst: boolean): Step {
  const join = !isFirst && dice.chance(0.4) ? { join: 'all', ...(dice.chance(0.3) && { collect: 'counts' }) } : {};
  const common = {
    id,
    ...(dice.chance(0.2) && { if: conditionOf(dice) }),
    on_error: dice.chance(0.85) ? 'continue' : 'fail',
    ...join,
  };
  const kind = dice.below(10);
  if (kind === 0 && depth < depthMax) return { ...common, steps: stepsOf(dice, callable, `${id}_`, depth + 1) };
  if (kind === 1 && depth < depthMax) {
    const branches = Array.from({ length: 1 + dice.below(3) }, (_, b) =>
      stepsOf(dice, callable, `${id}_${b}_`, depth + 1),
    );
    return { ...common, split: branches };
  }
  const isWhole = 'join' in join && !('collect' in join);
  const foreach = dice.chance(0.4)
    ? dice.pick(['payload.list', 'payload.list', isWhole ? 'payload.results' : 'payload.list'])
    : null;
  const seen = paths.filter(path => foreach !== null || !path.includes('item'));
  const withs = draw(dice, ['k', 'w', 'item'], () => `{${dice.pick(seen)}}`);
  const baggage = draw(dice, ['b.x', 'b.y', 'c.x'], () => dice.pick(seen));
  const target = kind === 2 && callable.length > 0 ? { call: dice.pick(callable) } : { uses: dice.pick(inPipelines) };
  return {
    ...common,
    ...target,
    ...(foreach && { foreach }),
    ...(withs && { with: withs }),
    ...(baggage && { baggage }),
  };
}

function draw(dice: Dice, keys: readonly string[], value: () => string): { [key: string]: string } | null {
  if (dice.chance(0.6)) return null;
  const drawn = keys.filter(() => dice.chance(0.5)).map(key => [key, value()]);
  return drawn.length === 0 ? null : Object.fromEntries(drawn);
}

/** A condition, sometimes with a pattern: a token that meets one may have to wait for a later turn. */
function conditionOf(dice: Dice): object {
  if (dice.chance(0.4)) return { path: 'payload.s', op: 'regex', value: dice.pick(['0$', '^[pqr]1', '[^a]']) };
  return { path: dice.pick(['payload.k', 'payload.k', 'context.b.x']), op: 'gt', value: dice.below(6) - 1 };
}

export function auditRetentionUsOf({ config }: Generation): number {
  return config.vault.auditRetentionMs * 1000;
}
