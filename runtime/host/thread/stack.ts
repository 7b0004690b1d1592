// The stack of an error that a plugin's code threw. It becomes the `stderr` of the attempt.

import { pathToFileURL } from 'node:url';
import { types } from 'node:util';
import type { Mask } from '../wire/mask.ts';
import type { HelperOutput } from '../wire/response.ts';

/** The maximum size of a stack. Further frames are left out. */
const stackBytesMax = 8 * 1024;
/** The maximum number of frames, those of an error's causes included. */
const framesMax = 10;
/** The maximum length of the line with an error's class and message. */
const headCharsMax = 1_000;
/** How many errors are shown: the one that was thrown, its `cause`, and the cause of that. */
const errorsMax = 3;

/** The output of an attempt whose handler threw: `aside`, and the stack as `stderr`. `directory`: the directory of the plugin. */
export function withStack(
  aside: HelperOutput | undefined,
  thrown: unknown,
  directory: string,
  mask: Mask | null = null,
): HelperOutput | undefined {
  const stderr = stackOf(thrown, directory, mask);
  return stderr === '' ? aside : { ...aside, stderr };
}

/**
 * The class and message of an error and of its causes, each with its frames in the plugin's files. Empty if there are no such frames and no
 * causes, because the message is known without a stack. Secrets are masked before anything is cut.
 */
function stackOf(thrown: unknown, directory: string, mask: Mask | null): string {
  const roots = [`${pathToFileURL(directory).href}/`, `${directory}/`];
  const lines: string[] = [];
  let frames = 0;
  let bytes = 0;
  const add = (line: string): void => {
    bytes += Buffer.byteLength(line) + 1;
    if (bytes <= stackBytesMax) lines.push(line);
  };
  try {
    let errors = 0;
    for (let error = thrown; isError(error) && errors < errorsMax; error = error.cause, errors++) {
      const head = `${errors === 0 ? '' : 'caused by '}${nameOf(error)}: ${error.message}`;
      add((mask?.text(head) ?? head).slice(0, headCharsMax));
      for (const frame of framesOf(error, roots).slice(0, framesMax - frames)) {
        add(mask?.text(frame) ?? frame);
        frames++;
      }
    }
  } catch {
    // A getter of the error threw. The parts that were read before are shown.
  }
  return frames === 0 && lines.length < 2 ? '' : `${lines.join('\n')}\n`;
}

/** The name of an error, or of its class if the error has no name of its own. */
function nameOf(error: Error): string {
  return error.name === 'Error' ? error.constructor.name : error.name;
}

/** `isNativeError` also recognizes errors of another realm. */
function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || types.isNativeError(thrown);
}

/** The frames in files below `roots`, with paths relative to them, and without the query of the import (code.ts). */
function framesOf({ stack }: Error, roots: readonly string[]): string[] {
  if (typeof stack !== 'string') return [];
  return stack
    .split('\n')
    .filter(line => /^ +at /.test(line) && roots.some(root => line.includes(root)))
    .map(line => roots.reduce((shown, root) => shown.replaceAll(root, ''), line).replaceAll(/\?generation=[^:]*/g, ''));
}
