// The command `headgate doctor`, which prints the checks of the running service and their results.
import type { Check } from '../../service/doctor/doctor.ts';
import { clientCommand } from '../client/connect.ts';
import { exitStatus } from '../exit-status.ts';
import { table } from '../terminal/table.ts';
import type { Piece } from '../terminal/text.ts';

type Doctor = { readonly status: string; readonly checks: readonly Check[] };

export const doctorCommand = clientCommand({
  usage: 'doctor',
  description: 'let the running service check its configuration, state and environment',
  examples: ['headgate doctor'],
  statuses: '0 all checks passed, 1 a check failed',
  async run({ client, out }) {
    const doctor = await client.get<Doctor>('/system/doctor', {
      status: true,
      checks: ['name', 'passed', 'detail'],
    });
    const rows = doctor.checks.map(({ name, passed, detail }): Piece[] => {
      return [name, passed ? { text: 'passed', style: 'green' } : { text: 'FAILED', style: 'red' }, detail];
    });
    await out.answer(doctor, () => table(['CHECK', 'RESULT', 'DETAIL'], rows));
    return doctor.status === 'ok' ? exitStatus.ok : exitStatus.failed;
  },
});
