// The command `headgate vault audit`, which prints, verifies, exports and prunes the audit trail.

import { Option } from 'commander';
import { countText } from '../../runtime/text.ts';
import { parseTimestamp } from '../../service/json/timestamp.ts';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions } from '../client/connect.ts';
import { connectVault } from '../client/vault.ts';
import { type CommandCall, command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, report, usageFailure } from '../failure.ts';
import { Output } from '../output.ts';
import { gather, parseInstant } from '../quantity.ts';
import { table } from '../terminal/table.ts';
import { printableJson } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';
import type { AuditFilter, AuditLine, AuditPages } from '../vault/audit.ts';
import { withVault } from '../vault/work.ts';

type Options = AuditFilter &
  AddressOptions & {
    readonly file?: readonly string[];
    readonly export?: string;
    readonly before?: string;
    readonly prune?: boolean;
  };

export const vaultAudit = command<Options>({
  usage: 'vault audit',
  description: 'print the audit trail of the vault and verify all of it; the service may be running',
  examples: [
    'headgate vault audit --config .',
    'headgate vault audit --op deliver --secret smtp-password --json',
    'headgate vault audit --export audit.ndjson --prune --before 90d',
    'headgate vault audit --file audit.ndjson',
  ],
  options: [
    new Option('--op <op>', 'only records of this operation, such as secret.set or deliver'),
    new Option(
      '--actor <actor>',
      'only records of this actor: admin, unknown, command, dispatcher; job:<id> finds the deliveries to this job',
    ),
    new Option('--principal <name>', 'only records about this principal'),
    new Option('--secret <name>', 'only records about this secret, and deliveries of it'),
    new Option('--outcome <outcome>', 'only records with this outcome').choices(['ok', 'refused']),
    new Option(
      '--file <file>',
      'print and verify an exported file instead of the trail; can be repeated, in the order of the files',
    ).argParser(gather),
    new Option('--export <file>', 'verify the whole trail, and write its records into this new file'),
    new Option(
      '--before <time>',
      'with --export and --prune: only records older than this RFC 3339 time; 90d means 90 days ago',
    ).argParser(parseInstant),
    new Option(
      '--prune',
      'let the running service remove what was exported, with the admin token in SERVICE_VAULT_TOKEN; requires --before',
    ),
    ...addressOptions(),
  ],
  statuses:
    '0 verified, 1 a record was changed, removed, moved or added, or there is no vault, 69 the service cannot be reached to prune, 74 a file cannot be read or written (with --json, a document that has begun ends with "problem"), 78 configuration',
  async run(call) {
    const { io, out, options } = call;
    const { config, op, actor, principal, secret, outcome, file: files } = options;
    const wanted: AuditFilter = { op, actor, principal, secret, outcome };
    checkUse(options, wanted);
    if (options.export !== undefined) return exportAndPrune(call, options.export);
    const { readAudit } = await import('../vault/audit.ts');
    const { readTrailFiles } = await import('../vault/trail-files.ts');
    const read: Read = show =>
      withVault(config, io, place => show(files ? readTrailFiles(place, files, wanted) : readAudit(place, wanted)));
    const broken = out.json ? await copy(read, out) : await read(pages => draw(pages, out));
    if (broken instanceof CommandFailure) return report(broken, new Output(io, false));
    if (broken !== null) out.note(`headgate: the audit trail is broken: ${broken}`);
    return broken === null ? exitStatus.ok : exitStatus.failed;
  },
});

function checkUse({ file, export: target, before, prune }: Options, filter: AuditFilter): void {
  if (target === undefined && (before !== undefined || prune)) throw usageFailure('--before and --prune need --export');
  if (prune && before === undefined) throw usageFailure('--prune needs --before');
  const others = [file, ...Object.values(filter)];
  if (target !== undefined && others.some(one => one !== undefined))
    throw usageFailure('--export writes every record of a period: it cannot be combined with a filter or with --file');
}

type Pruned = { readonly records: number; readonly more: boolean };

/**
 * Writes the records to `file`. With `--prune`, the service then removes these records. The file is complete on disk before the
 * first removal.
 */
async function exportAndPrune(call: CommandCall<Options>, file: string): Promise<number> {
  const { io, out, options } = call;
  const { exportTrail } = await import('../vault/trail-files.ts');
  const { before, prune = false } = options;
  const beforeUs = before === undefined ? Number.POSITIVE_INFINITY : parseTimestamp(before)!;
  // Without an address or an admin token, the command fails here, before anything is exported.
  const client = prune ? await connectVault(call) : null;
  const exported = await withVault(options.config, io, place => exportTrail(place, file, beforeUs));
  let pruned = 0;
  if (client !== null && exported !== null) {
    out.note(`records ${exported.first} to ${exported.last} are in ${file}`);
    const body = { before, through: exported.last };
    for (let more = true; more; ) {
      const answer = await client.post<Pruned>('/vault/audit/prune', { records: true, more: true }, body);
      pruned += answer.records;
      more = answer.more;
    }
  }
  const document = {
    file: exported && file,
    ...(exported ?? { records: 0 }),
    verified: true,
    ...(prune && { pruned }),
  };
  await out.answer(document, () => [
    exported
      ? `${countText(exported.records, 'record')} exported to ${file}`
      : 'no record is older than that time; no file was written',
    ...(prune ? [`${countText(pruned, 'record')} pruned`] : []),
  ]);
  return exitStatus.ok;
}

/** Passes the pages of the trail to `show`, and resolves with the result of `show`. Throws a `CommandFailure` if the trail cannot be read. */
type Read = (show: (pages: AuditPages) => Promise<string | null>) => Promise<string | null>;

/**
 * Prints one JSON document, a record per line. Resolves with the reason why the trail is broken, or null. If the trail cannot be read after
 * the first page, the document ends with the problem document, and the promise resolves with the failure.
 */
async function copy(read: Read, out: Output): Promise<string | null | CommandFailure> {
  let separator = '{"records": [\n';
  const add = async (page: readonly AuditLine[]): Promise<void> => {
    const records = page.map(line => printableJson(JSON.stringify(shown(line))));
    await out.piece(separator + records.join(',\n'));
    separator = ',\n';
  };
  const broken = await read(pages => eachPage(pages, add)).catch((error: unknown) => {
    if (error instanceof CommandFailure && !separator.startsWith('{')) return error;
    throw error;
  });
  const start = separator.startsWith('{') ? '{"records": [' : '\n';
  const problem =
    broken instanceof CommandFailure ? `, "problem": ${printableJson(JSON.stringify(broken.problem))}` : '';
  await out.piece(`${start}], "verified": ${broken === null}${problem}}\n`);
  return broken;
}

/** Prints a table, page by page. Resolves with the reason why the trail is broken, or null. */
async function draw(pages: AuditPages, out: Output): Promise<string | null> {
  const widths: number[] = [];
  let isHeaded = false;
  const show = (page: readonly AuditLine[]) => {
    const lines = table(heading, page.map(shown).map(rowOf), widths);
    const more = isHeaded ? lines.slice(1) : lines;
    isHeaded = true;
    return out.answer(null, () => more);
  };
  const broken = await eachPage(pages, show);
  if (!isHeaded) await show([]);
  return broken;
}

/** Shows each page. Resolves with the reason why the trail is broken, or null. */
async function eachPage(
  pages: AuditPages,
  show: (page: readonly AuditLine[]) => Promise<void>,
): Promise<string | null> {
  for (;;) {
    const step = pages.next();
    if (step.done) return step.value;
    await show(step.value);
  }
}

function shown(record: AuditLine) {
  return { ...record, at: new Date(record.at / 1000).toISOString() };
}

const heading = ['seq', 'at', 'actor', 'op', 'principal', 'secret', 'outcome', 'code', 'count', 'jobs'];

function rowOf(line: ReturnType<typeof shown>): string[] {
  const { seq, at, actor, op, principal, secret, secrets = [], outcome, code, count, jobs = [] } = line;
  const about = [principal ?? '', secret ?? secrets.join(' '), outcome, code ?? '', String(count ?? 1), jobs.join(' ')];
  return [String(seq), formatAt(at), actor, op, ...about];
}
