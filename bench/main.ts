// The command `npm run bench`: runs a bench by name, or all, and prints what was measured.
import { parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { benches } from './catalog.ts';
import { jsonLines, type Report, table } from './report.ts';
import { Stage } from './stage.ts';
import { workHash } from './work-hash.ts';

const exitUsage = 2;
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, smoke: { type: 'boolean', default: false } },
});
const size = flags.smoke ? 'smoke' : 'real';

async function measure(bench: Bench): Promise<Report> {
  const { name, purpose, limitMs, parameters } = bench;
  const params = parameters[size];
  const stage = new Stage();
  const interrupt = (): void => {
    void stage.close().then(() => process.exit(1));
  };
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  let late: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`not done within ${limitMs[size]} ms`)), limitMs[size]);
  });
  try {
    const { metrics, work, circumstances = {} } = await Promise.race([bench.run(params, stage), limit]);
    const hash = { name: 'work_hash', value: workHash(work), unit: 'sha256/64' };
    return { bench: name, purpose, params: { size, ...params, ...circumstances }, metrics: [...metrics, hash] };
  } finally {
    clearTimeout(late);
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
    await stage.close();
  }
}

function list(): string {
  const lines = benches.map(({ name, purpose }) => `  ${name.padEnd(8)} ${purpose}`);
  return ['npm run bench -- NAME [--json] [--smoke]', ...lines, '  all      all of them, one after the other', ''].join(
    '\n',
  );
}

const [name] = positionals;
const chosen = name === 'all' ? benches : benches.filter(bench => bench.name === name);
if (name === undefined) process.stdout.write(list());
else if (chosen.length === 0) {
  process.stderr.write(`there is no bench "${name}"\n${list()}`);
  process.exit(exitUsage);
}
let failed = false;
for (const bench of chosen) {
  try {
    const report = await measure(bench);
    process.stdout.write(flags.json ? jsonLines(report) : `${table(report)}\n`);
  } catch (error) {
    failed = true;
    process.stderr.write(`${bench.name} failed: ${(error as Error).message}\n`);
  }
}
process.exit(failed ? 1 : 0);
