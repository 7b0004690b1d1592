// Which commands emit which signals, and which commands these signals start, according to the configuration (docs/contract.md#topology).
import { type Config, instanceNamed } from '../../../config/config.ts';
import type { PipelineDefinition, Step } from '../../../config/pipeline/definition.ts';
import { pipelinePlugin } from '../../job/records/job.ts';
import { callEventType, joinEventType, phaseEventType } from '../protocol.ts';

/** A signal, and a command that emits the signal or is started by it. */
export type Wire = { readonly signal: string; readonly command: string };
export type End = { readonly plugin: string; readonly command: string };

export type Topology = {
  readonly plugins: readonly {
    readonly name: string;
    readonly active: boolean;
    readonly inputs: readonly Wire[];
    readonly outputs: readonly Wire[];
  }[];
  readonly signals: readonly {
    readonly name: string;
    readonly producers: readonly End[];
    readonly consumers: readonly End[];
  }[];
};

/** The command that a webhook of a plugin starts. */
const webhookCommand = 'handle';

type Edges = Map<string, Map<string, End>>;

/**
 * The topology, sorted by name. `outputs` are declared by manifests. `inputs` come from webhooks and from pipelines: the first step receives
 * the event with which its pipeline or phase begins, a step with a join receives `pipeline.join`, and any other step receives the signals that
 * the step before it passes on. A step whose command declares no events passes on the signal `<plugin>.<command>.result`.
 */
export function topologyOf(config: Config): Topology {
  const walk = new Walk(config);
  for (const pipeline of config.pipelines) walk.pipeline(pipeline);
  for (const { name, plugin, pipeline, event } of config.webhooks.endpoints) {
    // A template of an event type is shown as written: the actual types are known only when deliveries arrive.
    const signal = event?.written ?? `webhook.${name}`;
    if (plugin !== undefined) put(walk.consumers, signal, { plugin, command: webhookCommand });
    else if (pipeline !== undefined) walk.delivery(pipeline, signal);
  }
  const outputs: Edges = new Map();
  for (const [name, { manifest }] of Object.entries(config.plugins)) {
    for (const { name: command, emit } of manifest.commands) {
      for (const { event } of emit) put(outputs, event, { plugin: name, command });
    }
  }
  const producers: Edges = new Map([...outputs].map(([signal, ends]) => [signal, new Map(ends)]));
  // A result that no step receives is not a signal.
  for (const [signal, end] of walk.handedOn) if (walk.consumers.has(signal)) put(producers, signal, end);
  const names = [...new Set([...producers.keys(), ...walk.consumers.keys()])].sort();
  const inputs = wiresByPlugin(walk.consumers);
  const outgoing = wiresByPlugin(outputs);
  return {
    plugins: Object.keys(config.plugins)
      .sort()
      .map(name => ({
        name,
        active: true,
        inputs: inputs.get(name) ?? [],
        outputs: outgoing.get(name) ?? [],
      })),
    signals: names.map(name => ({ name, producers: endsOf(producers, name), consumers: endsOf(walk.consumers, name) })),
  };
}

/** Walks the steps of pipelines with the set of signals that can reach each step. */
class Walk {
  readonly consumers: Edges = new Map();
  /** The results that steps pass on, by signal. */
  readonly handedOn = new Map<string, End>();
  readonly #config: Config;
  readonly #byName: ReadonlyMap<string, PipelineDefinition>;
  /** The signals with which each called pipeline was walked. */
  readonly #walked = new Map<string, Set<string>>();

  constructor(config: Config) {
    this.#config = config;
    this.#byName = new Map(config.pipelines.map(pipeline => [pipeline.name, pipeline]));
  }

  pipeline({ on, onHook, steps, onFailure = [], finally: last = [] }: PipelineDefinition): void {
    this.#sequence(steps, [on ?? onHook ?? callEventType]);
    this.#sequence(onFailure, [phaseEventType('on_failure')]);
    this.#sequence(last, [phaseEventType('finally')]);
  }

  /** Walks a pipeline that a webhook starts: its first steps receive this signal. */
  delivery(pipeline: string, signal: string): void {
    this.#sequence(this.#byName.get(pipeline)?.steps ?? [], [signal]);
  }

  #sequence(steps: readonly Step[], entering: readonly string[]): readonly string[] {
    return steps.reduce((signals, step) => this.#step(step, signals), entering);
  }

  #step(step: Step, entering: readonly string[]): readonly string[] {
    const signals = step.join ? [joinEventType] : entering;
    const leaving = this.#leaving(step, signals);
    // If the condition is false, the step is skipped, and its incoming signals reach the next step.
    return step.if === null ? leaving : [...new Set([...leaving, ...signals])];
  }

  #leaving(step: Step, signals: readonly string[]): readonly string[] {
    switch (step.kind) {
      case 'uses': {
        const end = { plugin: step.instance, command: step.command };
        for (const signal of signals) put(this.consumers, signal, end);
        return this.#emittedBy(end);
      }
      case 'call': {
        const called = this.#byName.get(step.pipeline);
        if (called) this.#called(called, called.on === null ? signals : [called.on]);
        const end = { plugin: pipelinePlugin, command: step.pipeline };
        return [this.#handOn(`${pipelinePlugin}.${step.pipeline}.result`, end)];
      }
      case 'split':
        return [...new Set(step.branches.flatMap(({ steps }) => this.#sequence(steps, signals)))];
      case 'steps':
        return this.#sequence(step.steps, signals);
    }
  }

  /**
   * Walks a called pipeline once for each signal: signals do not depend on each other. Without this rule, a chain of pipelines with several calls
   * each would be walked exponentially often.
   */
  #called({ name, steps }: PipelineDefinition, signals: readonly string[]): void {
    const walked = this.#walked.get(name) ?? new Set();
    this.#walked.set(name, walked);
    const unwalked = signals.filter(signal => !walked.has(signal));
    for (const signal of unwalked) walked.add(signal);
    if (unwalked.length > 0) this.#sequence(steps, unwalked);
  }

  #emittedBy(end: End): readonly string[] {
    const commands = instanceNamed(this.#config, end.plugin)?.manifest.commands ?? [];
    const declared = commands.find(({ name }) => name === end.command)?.emit ?? [];
    if (declared.length > 0) return [...new Set(declared.map(({ event }) => event))];
    return [this.#handOn(`${end.plugin}.${end.command}.result`, end)];
  }

  #handOn(signal: string, end: End): string {
    this.handedOn.set(signal, end);
    return signal;
  }
}

function put(edges: Edges, signal: string, end: End): void {
  const ends = edges.get(signal) ?? new Map<string, End>();
  edges.set(signal, ends.set(`${end.plugin}\0${end.command}`, end));
}

function endsOf(edges: Edges, signal: string): End[] {
  return [...(edges.get(signal) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, end]) => end);
}

/** The wires of each plugin, sorted by signal. */
function wiresByPlugin(edges: Edges): Map<string, Wire[]> {
  const wires = new Map<string, Wire[]>();
  for (const signal of [...edges.keys()].sort()) {
    for (const { plugin, command } of endsOf(edges, signal)) {
      const known = wires.get(plugin) ?? [];
      known.push({ signal, command });
      wires.set(plugin, known);
    }
  }
  return wires;
}
