// The command `headgate pauses`, which lists the pauses in force.
import { clientCommand } from '../client/connect.ts';
import { fetchPauses, pauseLines } from '../client/pauses.ts';

export const pausesCommand = clientCommand({
  usage: 'pauses',
  description: 'list what is paused, by whom, since when and until when',
  examples: ['headgate pauses', 'headgate pauses --json'],
  async run({ client, out }) {
    const list = await fetchPauses(client);
    await out.answer(list, () => (list.pauses.length === 0 ? ['nothing is paused'] : pauseLines(list.pauses)));
  },
});
