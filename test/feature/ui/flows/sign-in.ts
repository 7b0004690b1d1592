// Flows of signing in: by token, by a code of `headgate ui`, and what the page says once a token is no longer valid.
import { expect, test } from 'vitest';
import { everythingToken } from '../../../service/gateway/configuration.ts';
import { type Gateway, startGateway } from '../../../service/gateway/gateway.ts';
import { headgate } from '../../cli/headgate.ts';
import { visit } from '../browser.ts';

/** Chromium notes each refused request on the console. */
export const refused401 = [/status of 401/];

export function signInFlows(gateway: Gateway): void {
  test('sign in with a token, and out again', async () => {
    const page = await visit(gateway, { token: null, at: '#/jobs?status=failed', expected: refused401 });
    const field = page.getByLabel('API token');
    await field.fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The service does not accept this token.').waitFor();
    await field.fill(everythingToken);
    await field.press('Enter');
    // After the sign-in, the page shows the place in the URL.
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/ui#/jobs?status=failed`);
    expect(await page.context().cookies()).toEqual([]);

    await page.reload();
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await field.waitFor();
    expect(await page.evaluate('JSON.stringify([{...localStorage}, {...sessionStorage}])')).not.toContain(
      everythingToken,
    );
  });

  test('a token with a character that no token has is refused, by the sign-in and by the vault', async () => {
    const pasted = `\u200b${everythingToken}`;
    const page = await visit(gateway, { token: null, at: '#/vault', expected: refused401 });
    await page.getByLabel('API token').fill(pasted);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The service does not accept this token.').waitFor();
    await page.getByLabel('API token').fill(everythingToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Admin token of the vault').fill(pasted);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('This is not the admin token of the vault').waitFor();
  });

  test('sign in by the code that `headgate ui` prints, once', async () => {
    const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken };
    const { stdout } = await headgate(['ui', '--no-open'], { env });
    const fragment = new URL(stdout.trim()).hash;
    const page = await visit(gateway, { token: null, at: fragment });
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    expect(page.url()).not.toContain('code=');
    const other = await visit(gateway, { token: null, at: fragment, expected: [/status of 40[0-9]/] });
    await other.getByText('The code of headgate ui was refused.').waitFor();
  });

  test('a code that is opened in a tab with the dashboard signs in there, and leaves the URL', async () => {
    const code = async () => String((await gateway.call('POST', '/ui/code')).body['code']);
    const page = await visit(gateway, { at: '#/jobs', expected: [/status of 40[0-9]/] });
    const kept = () => page.evaluate("sessionStorage.getItem('headgate.token')");
    await page.getByRole('button', { name: 'Live' }).waitFor();
    const first = await code();
    await page.goto(`${gateway.url}/ui#code=${first}`);
    await expect.poll(kept).toMatch(/^hgui_/);
    expect(page.url()).not.toContain('code=');
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Live' }).waitFor();
    // A code that is refused changes nothing.
    await page.goto(`${gateway.url}/ui#code=${first}`);
    await page.getByText('The code of headgate ui was refused').waitFor();
    expect(page.url()).not.toContain('code=');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API token').waitFor();
    await page.goto(`${gateway.url}/ui#code=${await code()}`);
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
  });

  test('a token that expires under the page leads to the sign-in, which says so, and is refused there', async () => {
    const token = 'token-that-expires-0123456789';
    const scopes = ['jobs:ro'];
    const tokens = (expires_at: string) => ({
      api: {
        auth: {
          tokens: [
            { name: 'test', token: everythingToken, scopes: ['*'] },
            { token, scopes, expires_at },
          ],
        },
      },
    });
    const own = await startGateway(tokens('2999-01-01T00:00:00Z'));
    const page = await visit(own, { token, at: '#/now', expected: refused401 });
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    await own.reload(tokens('2020-01-01T00:00:00Z'));
    await page.getByText('The token is no longer valid: it has expired').waitFor();
    await page.getByLabel('API token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The service does not accept this token.').waitFor();
  });

  test('a session that has ended leads back to the sign-in, which says so', async () => {
    const { body: made } = await gateway.call('POST', '/ui/code');
    const { body } = await gateway.call('POST', '/ui/session', { code: made['code'] }, { token: null });
    const page = await visit(gateway, { token: String(body['token']), at: '#/jobs', expected: refused401 });
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    expect((await gateway.call('DELETE', '/ui/session')).status).toBeLessThan(300);
    await gateway.finished('greeter/handle', { name: 'an event for the page' });
    await page.getByText('The token is no longer valid').waitFor();
    await page.getByLabel('API token').waitFor();
  });
}
