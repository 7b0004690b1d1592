// The command `npm run bench`: runs a bench by name, or all, or one under profile, and prints what was measured.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench, Parameters } from './bench.ts';
import { benches } from './catalog.ts';
import { measure } from './measure.ts';
import { accountMetrics, accountTable, readAccount } from './profile/account.ts';
import { jsonLines, table } from './report.ts';

const exitUsage = 2;
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    out: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
  },
});
const size = flags.smoke ? 'smoke' : 'real';

function list(): string {
  const usage = [
    'npm run bench -- NAME [--json] [--smoke] [--set PARAMETER=NUMBER]… [--out DIRECTORY]',
    'npm run bench -- profile NAME …   the same with a CPU profile of every thread',
  ];
  const lines = benches.map(({ name, purpose }) => `  ${name.padEnd(13)} ${purpose}`);
  return [...usage, ...lines, '  all           all of them, one after the other', ''].join('\n');
}

/** A name stands for itself and for those that go on from it with a hyphen. */
function chosenBy(name: string): readonly Bench[] {
  if (name === 'all') return benches;
  return benches.filter(bench => bench.name === name || bench.name.startsWith(`${name}-`));
}

/** Those of `--set` that the bench has. */
function parametersOf(bench: Bench): Parameters {
  const pairs = flags.set.map(pair => pair.split('=') as [string, string]);
  return Object.fromEntries(
    pairs.filter(([name]) => name in bench.parameters.real).map(([name, value]) => [name, Number(value)]),
  );
}

function refuse(why: string): never {
  process.stderr.write(`${why}\n${list()}`);
  process.exit(exitUsage);
}

/** Where files are put: what the user says, or a new folder. */
function outputDirectory(): string {
  if (flags.out === undefined) return mkdtempSync(join(tmpdir(), 'headgate-bench-out-'));
  mkdirSync(flags.out, { recursive: true });
  return flags.out;
}

async function run(bench: Bench, isProfiled: boolean): Promise<void> {
  const profiles = isProfiled ? outputDirectory() : undefined;
  const { report, files, stretches } = await measure(bench, { size, parameters: parametersOf(bench), profiles });
  process.stdout.write(flags.json ? jsonLines(report) : `${table(report)}\n`);
  if (profiles !== undefined) {
    const account = readAccount(profiles, stretches);
    const metrics = accountMetrics(account);
    const lines = flags.json
      ? jsonLines({ ...report, bench: `profile ${bench.name}`, metrics })
      : accountTable(account);
    process.stdout.write(lines);
    process.stderr.write(`profiles: ${profiles}\n`);
  }
  if (Object.keys(files).length === 0) return;
  const directory = outputDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  process.stderr.write(`written: ${Object.keys(files).join(', ')} in ${directory}\n`);
}

if (positionals.length === 0) {
  process.stdout.write(list());
  process.exit(0);
}
const isProfiled = positionals[0] === 'profile';
const name = positionals[isProfiled ? 1 : 0] ?? refuse('profile needs the name of a bench');
const chosen = chosenBy(name);
if (chosen.length === 0) refuse(`there is no bench "${name}"`);
for (const pair of flags.set) {
  const [parameter, value] = pair.split('=');
  const isKnown = chosen.some(({ parameters }) => parameter! in parameters.real);
  if (!isKnown || !Number.isFinite(Number(value || Number.NaN)))
    refuse(`--set ${pair}: no such parameter, or no number`);
}
let failed = false;
for (const bench of chosen) {
  try {
    await run(bench, isProfiled);
  } catch (error) {
    failed = true;
    process.stderr.write(`${bench.name} failed: ${(error as Error).message}\n`);
  }
}
process.exit(failed ? 1 : 0);
