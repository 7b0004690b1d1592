// The route that writes a backup (docs/backup.md).
import { Type } from '../../runtime/schema-type.ts';
import { backupPathPattern } from '../../service/backup/backups.ts';
import { bodyOf, count, instant, nullable } from '../openapi/schemas.ts';
import { problem } from '../problem.ts';
import { anyOf, json, route } from '../route.ts';

const answer = Type.Object({
  path: Type.String({ description: 'The directory of the backup.' }),
  version: Type.String(),
  state_format: Type.Integer(),
  store_id: nullable(Type.String()),
  created_at: instant,
  last_commit: nullable(instant),
  turn: nullable(Type.Object({ number: count, at: instant })),
  counts: Type.Object({
    jobs: count,
    unsettled: count,
    runs_unsettled: count,
    attempts: count,
    schedules: count,
  }),
  oldest_unsettled: nullable(instant),
  files: Type.Array(Type.Object({ name: Type.String(), bytes: count, sha256: Type.String() })),
});

export const postBackup = route({
  method: 'POST',
  path: '/system/backup',
  section: 'Administration',
  summary: 'Writes a backup of the state below `backups.into`, while work continues.',
  access: anyOf('*'),
  notes:
    'The answer comes when the backup is whole and on disk. One backup is written at a time. It needs the size of the state as free ' +
    'space, and as much again on the disk of the state. It never replaces anything, and never has the unlock key of the vault.',
  body: bodyOf({
    path: Type.Optional(
      Type.String({
        pattern: backupPathPattern,
        description: 'A path below `backups.into`, in an existing directory. Default: a name made of the time.',
      }),
    ),
  }),
  problems: ['backup_running', 'backup_refused', 'backup_failed'],
  answers: { 200: { description: 'The backup is on disk.', schema: answer } },
  async handle({ engine, body }) {
    const { path } = (body ?? {}) as { readonly path?: string };
    const end = await engine.backups.write(path ?? null);
    if (end.kind === 'running') return problem('backup_running', 'another backup is being written');
    if (end.kind !== 'written') return problem(`backup_${end.kind}`, end.reason);
    const { headgate_backup: _, ...manifest } = end.manifest;
    return json(200, JSON.stringify({ path: end.path, ...manifest }));
  },
});
