// `headgate vault audit`.
import { Option } from 'commander';
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { table } from '../terminal/table.ts';
import { formatAt } from '../terminal/time.ts';
import type { AuditFilter, AuditLine } from '../vault/audit.ts';
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
    const { records, broken } = await withVault(config, io, place => readAudit(place, wanted));
    const shown = records.map(record => ({ ...record, at: new Date(record.at / 1000).toISOString() }));
    await out.answer({ records: shown, verified: broken === null }, () => table(heading, shown.map(rowOf)));
    if (broken !== null) out.note(`headgate: the audit trail is broken: ${broken}`);
    return broken === null ? exitStatus.ok : exitStatus.failed;
  },
});

const heading = ['seq', 'at', 'actor', 'op', 'principal', 'secret', 'outcome', 'code', 'count'];

function rowOf(line: Omit<AuditLine, 'at'> & { readonly at: string }): string[] {
  const { seq, at, actor, op, principal, secret, outcome, code, count } = line;
  return [String(seq), formatAt(at), actor, op, principal ?? '', secret ?? '', outcome, code ?? '', String(count ?? 1)];
}
