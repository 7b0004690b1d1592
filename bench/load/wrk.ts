// Runs the load generator wrk, if it is installed. It sends the same request from many connections for a time.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { numberText } from './request.ts';
import { type Loaded, outputOf } from './run.ts';

export type WrkPlan = {
  readonly path: string;
  /** Present: sends GET requests with these headers instead of POST requests with a payload. */
  readonly read?: { readonly headers: { readonly [name: string]: string } };
  readonly connections: number;
  readonly seconds: number;
  /** The directory for the script that wrk runs. */
  readonly directory: string;
};

export type WrkResult = {
  readonly completed: number;
  readonly perS: number;
  readonly p50Us: number;
  readonly p99Us: number;
};

export function hasWrk(): boolean {
  return spawnSync('wrk', ['--version']).error === undefined;
}

/** Throws if a response is not 2xx or 3xx, if a response takes more than 10 s, or if a connection breaks. */
export async function runWrk(service: Loaded, plan: WrkPlan): Promise<WrkResult> {
  const script = join(plan.directory, 'wrk.lua');
  const body = JSON.stringify({ payload: { n: numberText(0) } });
  const asked = plan.read
    ? `wrk.method = "GET"\n`
    : `wrk.method = "POST"\nwrk.body = '${body}'\nwrk.headers["Content-Type"] = "application/json"\n`;
  const headers = Object.entries({ ...plan.read?.headers, Authorization: `Bearer ${service.token}` });
  writeFileSync(script, asked + headers.map(([name, value]) => `wrk.headers["${name}"] = '${value}'\n`).join(''));
  const { connections, seconds, path } = plan;
  // wrk accepts whole seconds only.
  const load = ['-t1', `-c${connections}`, `-d${Math.ceil(seconds)}s`, '--timeout', '10s', '--latency', '-s', script];
  return readWrk(await outputOf('wrk', [...load, new URL(path, service.url).href]));
}

/** Parses the output of wrk. */
export function readWrk(text: string): WrkResult {
  for (const trouble of [/Non-2xx or 3xx responses: .*/, /Socket errors: .*/]) {
    const found = trouble.exec(text);
    if (found) throw new Error(`wrk: ${found[0]}`);
  }
  return {
    completed: Number(match(text, /(\d+) requests in/)),
    perS: Number(match(text, /Requests\/sec:\s+([\d.]+)/)),
    p50Us: microseconds(match(text, /50%\s+([\d.]+[a-z]+)/)),
    p99Us: microseconds(match(text, /99%\s+([\d.]+[a-z]+)/)),
  };
}

function match(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`unexpected output of wrk: ${text}`);
  return found;
}

const unitUs: { readonly [unit: string]: number } = { us: 1, ms: 1000, s: 1_000_000, m: 60_000_000 };

function microseconds(text: string): number {
  return Number.parseFloat(text) * unitUs[text.replace(/[\d.]+/, '')]!;
}
