// How cancelled tasks of a frame end, depending on how far their code has come.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { limitsDefault, sandboxFault } from '../../../../runtime/processes/sandbox.ts';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, Stage } from './stage.ts';

afterEach(clearStages);

const caged = { sandbox: { kind: 'bwrap', limits: limitsDefault } } as const;
const hasBwrap = (await sandboxFault(caged.sandbox)) === null;
const ok = `echo '{"status":"ok"}'`;

it('a task that is cancelled while the code loads is returned, and never runs', async () => {
  const stage = new Stage().plugin(
    'p',
    `import { existsSync, watch, writeFileSync } from 'node:fs';
    const home = import.meta.dirname;
    await new Promise(go => {
      const watcher = watch(home, () => existsSync(home + '/go') && (watcher.close(), go()));
      writeFileSync(home + '/loading', '');
    });
    export const handle = ({ payload }) => writeFileSync(home + '/entered-' + payload.n, '');`,
  );
  const file = (name: string) => join(stage.directory, 'plugins/p', name);
  const cancelled = async () => {
    const ended = stage.frame('p', { payload: { n: 1 } });
    await until('the code loads', () => existsSync(file('loading')));
    await stage.cancel(0);
    stage.write('p', 'go', '');
    return ended;
  };
  let end = await cancelled();
  // A thread that still loads the code a second after the cancel is stopped, and the task fails. On a busy machine, that happens.
  while (end.outcomes.length > 0) {
    expect(end.outcomes).toMatchObject([{ verdict: 'error', error: 'cancelled' }]);
    for (const name of ['loading', 'go']) rmSync(file(name));
    stage.configure();
    end = await cancelled();
  }
  expect(end).toMatchObject({ outcomes: [], returned: [0], begun: [], lost: null });
  expect(await stage.run('p', { payload: { n: 2 } })).toMatchObject({ verdict: 'ok' });
  expect([1, 2].map(n => existsSync(file(`entered-${n}`)))).toEqual([false, true]);
});

it.each([
  ['has answered and has not ended', ok, { verdict: 'ok' }],
  ['answers when it is stopped', `finish() { ${ok}; exit; }; trap finish TERM`, { verdict: 'ok' }],
  ['has written a part of its answer', `printf '{"status":"o'`, { verdict: 'error', error: 'cancelled' }],
  ['has answered nothing', '', { verdict: 'error', error: 'cancelled' }],
])('a cancelled task whose program %s ends accordingly', async (_, code, expected) => {
  const stage = new Stage(1).plugin('p', `#!/bin/sh\n${code}\n: >begun\nsleep 60 & wait\n`);
  const ended = stage.frame('p');
  await until('the program has begun', () => existsSync(join(stage.directory, 'plugins/p/begun')));
  await stage.cancel(0);
  expect((await ended).outcomes).toMatchObject([expected]);
});

it.skipIf(!hasBwrap)('a cancelled task whose program runs in bubblewrap may answer when it is stopped', async () => {
  const code = `finish() { sleep 0.1; ${ok}; exit; }; trap finish TERM; : >$HOME/begun; sleep 60 & wait`;
  const stage = new Stage(1).plugin('p', `#!/bin/sh\n${code}\n`, caged);
  const ended = stage.frame('p');
  await until('the program has begun', () => existsSync(join(stage.runDirectory, 'work/p/begun')));
  await stage.cancel(0);
  expect((await ended).outcomes).toMatchObject([{ verdict: 'ok' }]);
});
