// Draws a pipeline as a Mermaid flowchart: steps in order, branches side by side, conditions as diamonds.
import { conditionText } from '../../actors/pipeline/views/drawn-pipeline.ts';
import { type Condition, type PipelineDefinition, pathText, type Step } from '../../config/pipeline/definition.ts';

/** The nodes that lead to the next step, each with the label of its arrow. */
type OpenArrows = readonly { readonly node: string; readonly label: string }[];

export function mermaidOf(pipeline: PipelineDefinition): string[] {
  const drawing = new Drawing();
  const trigger = pipeline.on ?? pipeline.onHook ?? 'called by name';
  const entry = drawing.node(`([${quoted(trigger)}])`);
  const entered = drawing.condition(pipeline.if, [{ node: entry, label: '' }]);
  const ends = drawing.phases(pipeline, drawing.sequence(pipeline.steps, entered.passed));
  const end = drawing.node(`([${quoted(`${pipeline.name} ends`)}])`);
  drawing.connect([...ends, ...entered.skipped], end);
  return [
    `%% ${pipeline.name}, ${pipeline.executionMode}`.replaceAll(/[\r\n]/g, ' '),
    'flowchart TD',
    ...drawing.lines,
  ];
}

class Drawing {
  readonly lines: string[] = [];
  #nodes = 0;

  /** Adds a node with this shape and text; returns its id. */
  node(shape: string): string {
    const id = `n${++this.#nodes}`;
    this.lines.push(`  ${id}${shape}`);
    return id;
  }

  connect(from: OpenArrows, to: string): void {
    for (const { node, label } of from)
      this.lines.push(`  ${node} -->${label === '' ? '' : `|${quoted(label)}|`} ${to}`);
  }

  /** Draws the phases: `on_failure` branches off after the steps, and `finally` follows both. */
  phases({ onFailure, finally: last }: PipelineDefinition, from: OpenArrows): OpenArrows {
    const failed = onFailure ? this.sequence(onFailure, labelled(from, 'on_failure')) : [];
    const ends = [...from, ...failed];
    return last ? this.sequence(last, labelled(ends, 'finally')) : ends;
  }

  sequence(steps: readonly Step[], from: OpenArrows): OpenArrows {
    return steps.reduce((ends, step) => this.#step(step, ends), from);
  }

  /**
   * Draws a condition. Returns the arrows for the case that the condition holds (`passed`), and for the case that it does not
   * (`skipped`). Without a condition, all arrows pass.
   */
  condition(
    condition: Condition | null,
    from: OpenArrows,
  ): { readonly passed: OpenArrows; readonly skipped: OpenArrows } {
    if (condition === null) return { passed: from, skipped: [] };
    const node = this.node(`{${quoted(conditionText(condition))}}`);
    this.connect(from, node);
    return { passed: [{ node, label: 'yes' }], skipped: [{ node, label: 'no' }] };
  }

  #step(step: Step, from: OpenArrows): OpenArrows {
    const { passed, skipped } = this.condition(step.if, this.#joined(step, from));
    return [...this.#body(step, passed), ...skipped];
  }

  /** The arrows into a step. For a join, these arrows first meet in one node. */
  #joined(step: Step, from: OpenArrows): OpenArrows {
    if (step.join === null) return from;
    const node = this.node(`[/${quoted(step.join.collect === 'counts' ? 'join all, counts only' : 'join all')}\\]`);
    this.connect(from, node);
    return [{ node, label: '' }];
  }

  #body(step: Step, from: OpenArrows): OpenArrows {
    if (step.kind === 'steps') return this.sequence(step.steps, from);
    if (step.kind === 'split') {
      const fork = this.node(`[\\${quoted(`split ${step.id}`)}/]`);
      this.connect(from, fork);
      return step.branches.flatMap(({ name, steps }) => this.sequence(steps, [{ node: fork, label: name ?? '' }]));
    }
    const what = step.kind === 'uses' ? `${step.instance}.${step.command}` : `call ${step.pipeline}`;
    const text = quoted([step.id, what, ...traits(step)].join('\n'));
    const node = this.node(step.kind === 'uses' ? `[${text}]` : `[[${text}]]`);
    this.connect(step.foreach === null ? from : labelled(from, 'each'), node);
    return [{ node, label: '' }];
  }
}

function labelled(arrows: OpenArrows, label: string): OpenArrows {
  return arrows.map(arrow => ({ ...arrow, label: [arrow.label, label].filter(Boolean).join(', ') }));
}

function traits(step: Extract<Step, { kind: 'uses' | 'call' }>): string[] {
  return [
    ...(step.foreach === null ? [] : [`foreach ${pathText(step.foreach)}`]),
    ...(step.onError === 'continue' ? ['on_error: continue'] : []),
    ...(step.failFast === false ? ['fail_fast: false'] : []),
  ];
}

/** Text in quotes. Characters that could have a meaning in Mermaid or HTML become character codes. */
function quoted(text: string): string {
  const safe = text.replaceAll(/[^\p{L}\p{N} _.,:;()/=\n*+-]/gu, character => `#${character.codePointAt(0)};`);
  return `"${safe.replaceAll('\n', '<br/>')}"`;
}
