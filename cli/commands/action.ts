// The commands `headgate action list` and `headgate action show`.
import { type ActionDocument, actionLines, progressText } from '../client/actions.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { moreLines, type Page, pageOptions } from '../client/lists.ts';
import type { CommandDeclaration } from '../command.ts';
import { table } from '../terminal/table.ts';
import { statusPiece } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';

type ActionPage = Page & { readonly actions: readonly ActionDocument[] };

const actionList = clientCommand<{ readonly limit?: number; readonly cursor?: string }>({
  usage: 'action list',
  description: 'list actions over many jobs, newest first',
  examples: ['headgate action list --limit 5'],
  options: pageOptions(),
  async run({ options, client, out }) {
    const form = { actions: ['action_id', 'state', 'matched'], total: true } as const;
    const page = await client.get<ActionPage>('/actions', form, options);
    const rows = page.actions.map(action => {
      const { action_id: id, state, created_at: at } = action;
      return [id, statusPiece(state), action.do, formatAt(at), progressText(action)];
    });
    await out.answer(page, () => table(['ACTION', 'STATE', 'DOES', 'CREATED (UTC)', 'PROGRESS'], rows));
    out.note(...moreLines(page.actions.length, page));
  },
});

const actionShow = clientCommand({
  usage: 'action show <action_id>',
  description: 'show an action over many jobs and its progress',
  examples: ['headgate action show 0198c0de-0000-7000-8000-000000000000'],
  async run({ args, client, out }) {
    const form = { action_id: true, state: true, matched: true, done: true, skipped: true } as const;
    const action = await client.get<ActionDocument>(`/action/${segment(args[0]!)}`, form);
    await out.answer(action, () => actionLines(action));
  },
});

export const actionCommands: readonly CommandDeclaration[] = [actionList, actionShow];
