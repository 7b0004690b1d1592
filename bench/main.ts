// The command `npm run bench`, which runs one bench or all, under a profiler or against another build, and prints the
// figures.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keep } from './against/baseline.ts';
import { changeRecords, changesOf, changeTable } from './against/change.ts';
import { measureAgainst } from './against/turns.ts';
import type { Bench, Parameters } from './bench.ts';
import { benches } from './catalog.ts';
import { measure } from './measure.ts';
import { accountMetrics, accountTable, readAccount } from './profile/account.ts';
import { projectRoot } from './project.ts';
import { jsonLines, table } from './report.ts';

const exitUsage = 2;
const roundsDefault = '3';
const { values: flags, positionals } = readArguments();
const size = flags.smoke ? 'smoke' : 'real';
if (flags.minutes !== undefined) flags.set.push(`minutes=${flags.minutes}`);
const only = flags.only?.split(',');

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        smoke: { type: 'boolean', default: false },
        out: { type: 'string' },
        rounds: { type: 'string', default: roundsDefault },
        keep: { type: 'string' },
        only: { type: 'string' },
        server: { type: 'string' },
        set: { type: 'string', multiple: true, default: [] },
        minutes: { type: 'string' },
      },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

function list(): string {
  const usage = [
    'npm run bench -- NAME [--json] [--smoke] [--set PARAMETER=NUMBER]… [--only PART,…] [--server uws|node] [--out DIRECTORY]',
    'npm run bench -- profile NAME …   the same with a CPU profile of every thread',
    'npm run bench -- against DIRECTORY NAME [--rounds NUMBER] [--keep TEXT] …   in turns with the build in another checkout',
  ];
  const lines = benches.map(({ name, purpose }) => `  ${name.padEnd(13)} ${purpose}`);
  return [...usage, ...lines, '  all           all of them, one after the other', ''].join('\n');
}

/** The bench with this name, and all benches whose names begin with it and a hyphen. `all` means every bench. */
function chosenBy(name: string): readonly Bench[] {
  if (name === 'all') return benches;
  return benches.filter(bench => bench.name === name || bench.name.startsWith(`${name}-`));
}

/** The values that `--set` gives to parameters of this bench. */
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

/** The directory for files: `--out`, or a new directory. */
function outputDirectory(): string {
  if (flags.out === undefined) return mkdtempSync(join(tmpdir(), 'headgate-bench-out-'));
  mkdirSync(flags.out, { recursive: true });
  return flags.out;
}

async function run(bench: Bench, isProfiled: boolean): Promise<void> {
  const profiles = isProfiled ? outputDirectory() : undefined;
  const { server } = flags;
  const parameters = parametersOf(bench);
  const { report, files, stretches } = await measure(bench, { size, parameters, only, profiles, server });
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

/** Measures this build in turns with the build in `directory`, which counts as the build before the change. */
async function runAgainst(directory: string, bench: Bench): Promise<void> {
  const rounds = Number(flags.rounds);
  const contest = { directory, rounds, size, parameters: parametersOf(bench), only } as const;
  const outcome = await measureAgainst(bench, contest);
  const { params: parameters } = outcome;
  const changes = changesOf(outcome.rounds);
  const lines = Object.entries(changeRecords(changes)).map(
    ([metric, change]) => `${JSON.stringify({ bench: bench.name, metric, ...change, parameters })}\n`,
  );
  process.stdout.write(flags.json ? lines.join('') : `${bench.name}, ${rounds} rounds\n${changeTable(changes)}\n\n`);
  if (flags.keep === undefined) return;
  keep({ bench: bench.name, parameters, before: directory, after: projectRoot, change: flags.keep, rounds, changes });
}

if (positionals.length === 0 || flags.help) {
  process.stdout.write(list());
  process.exit(0);
}
const isProfiled = positionals[0] === 'profile';
const other = positionals[0] === 'against' ? (positionals[1] ?? refuse('against needs a checkout')) : undefined;
const name = positionals[other !== undefined ? 2 : isProfiled ? 1 : 0] ?? refuse('the name of a bench is missing');
if (other !== undefined && flags.server !== undefined) refuse('--server: `against` measures the default server');
if (!/^[1-9]\d*$/.test(flags.rounds)) refuse(`--rounds ${flags.rounds}: it must be a positive integer`);
const chosen = chosenBy(name);
if (chosen.length === 0) refuse(`there is no bench "${name}"`);
for (const pair of flags.set) {
  const [parameter, value] = pair.split('=');
  const isKnown = chosen.some(({ parameters }) => parameter! in parameters.real);
  if (!isKnown || !Number.isFinite(Number(value || Number.NaN)))
    refuse(`--set ${pair}: it must be NAME=NUMBER with a parameter of the bench`);
}
for (const part of only ?? []) {
  if (!chosen.some(({ parts }) => parts?.includes(part))) refuse(`--only ${part}: the bench has no such part`);
}
let failed = false;
for (const bench of chosen) {
  try {
    await (other === undefined ? run(bench, isProfiled) : runAgainst(other, bench));
  } catch (error) {
    failed = true;
    process.stderr.write(`${bench.name} failed: ${(error as Error).message}\n`);
  }
}
process.exit(failed ? 1 : 0);
