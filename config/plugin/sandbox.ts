// The sandbox of an instance of a process plugin: the sandbox that the manifest asks for, or a stricter one.
import { limitsDefault, type Sandbox, type SandboxKind, sandboxKinds } from '../../runtime/processes/sandbox.ts';
import type { ReportAt } from '../check/problem.ts';
import type { Manifest } from '../config.ts';
import { parseDuration, parseSize } from '../quantity.ts';
import { nodeAt, numberOf, type SourceNode, textOf } from '../source/tree.ts';
import { sandboxOf, workerMessage } from './manifest.ts';

/** The sandbox of the instance; undefined if the instance has none. `node`: the value of `plugins.<name>`. */
export function readSandbox(manifest: Manifest, node: SourceNode | undefined): Sandbox | undefined {
  const kind = kindOf(manifest, node);
  if (kind === 'none') return undefined;
  const limits = nodeAt(node, 'limits');
  const cpuMs = parseDuration(textOf(limits, 'cpu'));
  return {
    kind,
    limits: {
      memoryBytesMax: sizeOf(nodeAt(limits, 'memory')) ?? limitsDefault.memoryBytesMax,
      cpuSMax: cpuMs === undefined ? limitsDefault.cpuSMax : Math.max(1, Math.ceil(cpuMs / 1000)),
      fileBytesMax: sizeOf(nodeAt(limits, 'file_size')) ?? limitsDefault.fileBytesMax,
      openFilesMax: numberOf(limits, 'open_files') ?? limitsDefault.openFilesMax,
      processesMax: numberOf(limits, 'processes') ?? limitsDefault.processesMax,
    },
  };
}

/** Refuses settings that have no effect, or that are less strict than the manifest asks for. `node`: the value of `plugins.<name>`. */
export function checkSandbox(name: string, manifest: Manifest, node: SourceNode, reportAt: ReportAt): void {
  const refuse = (key: 'sandbox' | 'limits', message: string) => reportAt(['plugins', name, key], message);
  const kind = kindOf(manifest, node);
  const asked = manifest.sandbox ?? 'none';
  if (manifest.runtime === 'worker') {
    if (kind !== 'none') refuse('sandbox', workerMessage);
  } else if (sandboxKinds.indexOf(kind) < sandboxKinds.indexOf(asked)) {
    refuse('sandbox', `is ${kind}, which is less strict than the ${asked} that the manifest asks for`);
  }
  if (nodeAt(node, 'limits') !== undefined && kind === 'none')
    refuse('limits', 'has no effect without a sandbox; set sandbox: limits');
}

function kindOf(manifest: Manifest, node: SourceNode | undefined): SandboxKind {
  return nodeAt(node, 'sandbox') === undefined ? (manifest.sandbox ?? 'none') : sandboxOf(node);
}

function sizeOf(node: SourceNode | undefined): number | undefined {
  return parseSize(textOf(node) ?? numberOf(node));
}
