// `headgate vault audit`.
import { Option } from 'commander';
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import type { Output } from '../output.ts';
import { table } from '../terminal/table.ts';
import { printableJson } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';
import type { AuditFilter, AuditLine, AuditPages } from '../vault/audit.ts';
import { withVault } from '../vault/work.ts';

type Options = AuditFilter & { readonly config?: string };

export const vaultAudit = command<Options>({
  usage: 'vault audit',
  description: 'print the audit trail of the vault, and verify all of it; the service may be running',
  examples: ['headgate vault audit --config .', 'headgate vault audit --op deliver --secret smtp-password --json'],
  options: [
    configOption(),
    new Option('--op <op>', 'only this operation, such as secret.set or deliver'),
    new Option('--actor <actor>', 'only this actor: admin, unknown, command, or job:<id>'),
    new Option('--principal <name>', 'only what is about this principal'),
    new Option('--secret <name>', 'only what is about this secret'),
    new Option('--outcome <outcome>', 'only what ended so').choices(['ok', 'refused']),
  ],
  statuses: '0 verified, 1 a record was changed, removed, moved or added, or there is no vault, 78 configuration',
  async run({ options: { config, ...filter }, io, out }) {
    const { readAudit } = await import('../vault/audit.ts');
    const { op, actor, principal, secret, outcome } = filter;
    const wanted: AuditFilter = { op, actor, principal, secret, outcome };
    const show = out.json ? copy : draw;
    const broken = await withVault(config, io, place => show(readAudit(place, wanted), out));
    if (broken !== null) out.note(`headgate: the audit trail is broken: ${broken}`);
    return broken === null ? exitStatus.ok : exitStatus.failed;
  },
});

/** One document, however long it is: a record in a line. */
async function copy(pages: AuditPages, out: Output): Promise<string | null> {
  let separator = '{"records": [\n';
  const broken = await eachPage(pages, async page => {
    const records = page.map(line => printableJson(JSON.stringify(shown(line))));
    await out.piece(separator + records.join(',\n'));
    separator = ',\n';
  });
  const start = separator.startsWith('{') ? '{"records": [' : '\n';
  await out.piece(`${start}], "verified": ${broken === null}}\n`);
  return broken;
}

/** A table, page by page. */
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

/** Resolves with what the pages return. */
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

const heading = ['seq', 'at', 'actor', 'op', 'principal', 'secret', 'outcome', 'code', 'count'];

function rowOf(line: ReturnType<typeof shown>): string[] {
  const { seq, at, actor, op, principal, secret, outcome, code, count } = line;
  return [String(seq), formatAt(at), actor, op, principal ?? '', secret ?? '', outcome, code ?? '', String(count ?? 1)];
}
