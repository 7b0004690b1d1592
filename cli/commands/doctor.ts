// `headgate doctor`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { table } from '../terminal/table.ts';

type Doctor = {
  readonly status: string;
  readonly checks: readonly { readonly name: string; readonly passed: boolean; readonly detail: string }[];
};

export const doctorCommand = command<AddressOptions>({
  usage: 'doctor',
  description: 'let the running service check its configuration, state and environment',
  examples: ['headgate doctor'],
  options: addressOptions(),
  statuses: '0 all checks passed, 1 a check failed',
  async run(call) {
    const doctor = await (await connect(call)).get<Doctor>('/system/doctor', {
      status: true,
      checks: ['name', 'passed', 'detail'],
    });
    await call.out.answer(doctor, () =>
      table(
        ['CHECK', 'RESULT', 'DETAIL'],
        doctor.checks.map(({ name, passed, detail }) => [
          name,
          passed ? { text: 'passed', style: 'green' } : { text: 'FAILED', style: 'red' },
          detail,
        ]),
      ),
    );
    return doctor.status === 'ok' ? exitStatus.ok : exitStatus.failed;
  },
});
