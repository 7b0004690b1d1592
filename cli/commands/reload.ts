// `headgate reload`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';

type Reloaded = { readonly status: string; readonly reloaded_at: string; readonly message: string };

export const reloadCommand = command<AddressOptions>({
  usage: 'reload',
  description: 'have the running service read its configuration again; a wrong one is refused, and the old one stays',
  examples: ['headgate reload'],
  options: addressOptions(),
  statuses: '0 the new configuration is in force, 78 it was refused',
  async run(call) {
    const reloaded = await (await connect(call)).post<Reloaded>('/system/reload');
    await call.out.answer(reloaded, () => [reloaded.message]);
    return exitStatus.ok;
  },
});
