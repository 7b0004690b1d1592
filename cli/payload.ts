// Payloads of commands: JSON, `@FILE`, or `-` for stdin.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { usageFailure } from './failure.ts';
import type { Io } from './io.ts';

/** `option` is named in messages: `--payload`. */
export async function readJsonOption(option: string, text: string, io: Io): Promise<unknown> {
  const json = text.startsWith('@')
    ? decoded(option, readNamedFile(option, resolve(io.cwd, text.slice(1))))
    : text === '-'
      ? decoded(option, await readAll(io))
      : text;
  try {
    return JSON.parse(json);
  } catch (error) {
    throw usageFailure(`${option} is not JSON: ${(error as Error).message}`);
  }
}

async function readAll({ stdin }: Io): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks);
}

function readNamedFile(option: string, path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    throw usageFailure(`${option}: ${path} cannot be read: ${(error as Error).message}`);
  }
}

function decoded(option: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageFailure(`${option} is not UTF-8 text`);
  }
}
