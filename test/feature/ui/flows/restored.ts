// A restored state: the screen Now says what it would run, and so does the question before it is resumed.
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { expect, onTestFinished, test } from 'vitest';
import { Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { headgate } from '../../cli/headgate.ts';
import { visit } from '../browser.ts';
import { greeter, settings, viewerToken } from '../service.ts';

export function restoredFlows(): void {
  test('a restored state says what it would run, and is resumed after a question that lists it', async () => {
    const own = { plugins: { greeter }, api: settings.api! };
    const source = await startGateway(own);
    await source.call('POST', '/control/system/pause', {});
    const waiting = await source.submit('greeter/handle', { name: 'Ada' });
    await source.call('POST', '/plugin/greeter/handle', { payload: { name: 'Grace' }, delay: '1h' });
    const backup = join(source.directory, 'backup');
    expect((await headgate(['backup', backup, '--config', source.directory])).status).toBe(0);
    const restored = new Gateway(own);
    onTestFinished(() => restored.discard());
    const into = join(restored.directory, 'data');
    expect((await headgate(['restore', backup, '--into', into])).status).toBe(0);
    await restored.start();

    const said = 'The service is paused: restored from backup';
    const viewer = await visit(restored, { at: '#/now', token: viewerToken });
    const seen = viewer.getByRole('listitem').filter({ hasText: said });
    await seen.getByText('Until it is resumed, no schedule fires').waitFor();
    expect(await seen.getByRole('button').count()).toBe(0);

    const page = await visit(restored, { at: '#/now', bypassCSP: true });
    const notice = page.getByRole('listitem').filter({ hasText: said });
    await notice
      .getByText(/Once it is resumed, it runs 2 jobs \(1 of them delayed\); the oldest was accepted/)
      .waitFor();
    await notice.getByText(/no schedule fires, and deliveries of webhooks get 503/).waitFor();
    await notice.getByRole('button', { name: 'Resume the service' }).click();
    const question = page.getByRole('dialog', { name: 'Resume the restored service?' });
    const commands = question.getByRole('list', { name: 'Jobs that it runs, by command' });
    expect(await commands.getByRole('listitem').allInnerTexts()).toEqual([expect.stringMatching(/greeter handle\s+2/)]);
    const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze();
    expect(violations.map(({ id }) => id)).toEqual([]);
    await question.getByRole('button', { name: 'Resume' }).click();
    await question.waitFor({ state: 'detached' });
    expect((await restored.settled(waiting)).status).toBe('succeeded');
    await notice.waitFor({ state: 'detached' });
  });
}
