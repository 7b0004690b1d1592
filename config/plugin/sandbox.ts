// The sandbox of an instance of a process plugin: the one that its manifest asks for, or a stricter one.
import { limitsDefault, type Sandbox, type SandboxKind, sandboxKinds } from '../../runtime/processes/sandbox.ts';
import type { ConfigProblem } from '../check/problem.ts';
import type { Manifest } from '../config.ts';
import { parseDuration, parseSize } from '../quantity.ts';
import { nodeAt, numberOf, placesAt, type SourceNode, textOf } from '../source/tree.ts';
import { sandboxOf, workerMessage } from './manifest.ts';

/** The sandbox, or undefined for none. `node`: the value of `plugins.<name>`. */
export function readSandbox(manifest: Manifest, node: SourceNode | undefined): Sandbox | undefined {
  const kind = kindOf(manifest, node);
  if (kind === 'none') return undefined;
  const limits = nodeAt(node, 'limits');
  const cpuMs = parseDuration(textOf(nodeAt(limits, 'cpu')));
  return {
    kind,
    limits: {
      memoryBytesMax: sizeOf(nodeAt(limits, 'memory')) ?? limitsDefault.memoryBytesMax,
      cpuSMax: cpuMs === undefined ? limitsDefault.cpuSMax : Math.max(1, Math.ceil(cpuMs / 1000)),
      fileBytesMax: sizeOf(nodeAt(limits, 'file_size')) ?? limitsDefault.fileBytesMax,
      openFilesMax: numberOf(nodeAt(limits, 'open_files')) ?? limitsDefault.openFilesMax,
      processesMax: numberOf(nodeAt(limits, 'processes')) ?? limitsDefault.processesMax,
    },
  };
}

/** Settings that have no effect, or that are less strict than the manifest asks for, are errors. */
export function sandboxProblems(name: string, manifest: Manifest, node: SourceNode): ConfigProblem[] {
  const found: ConfigProblem[] = [];
  const refuse = (key: 'sandbox' | 'limits', message: string) =>
    found.push({ place: placesAt(node, [key]).value, path: ['plugins', name, key], message });
  const isSet = (key: string) => nodeAt(node, key) !== undefined;
  const kind = kindOf(manifest, node);
  const asked = manifest.sandbox ?? 'none';
  if (manifest.runtime === 'worker') {
    if (kind !== 'none') refuse('sandbox', workerMessage);
  } else if (sandboxKinds.indexOf(kind) < sandboxKinds.indexOf(asked)) {
    refuse('sandbox', `is ${kind}, which is less strict than the ${asked} that the manifest asks for`);
  }
  if (isSet('limits') && kind === 'none') refuse('limits', 'has no effect without a sandbox; set sandbox: limits');
  return found;
}

function kindOf(manifest: Manifest, node: SourceNode | undefined): SandboxKind {
  return nodeAt(node, 'sandbox') === undefined ? (manifest.sandbox ?? 'none') : sandboxOf(node);
}

function sizeOf(node: SourceNode | undefined): number | undefined {
  return parseSize(textOf(node) ?? numberOf(node));
}
