// The command `headgate ui`, which opens the dashboard in a browser, signed in.
import { spawn } from 'node:child_process';
import { Option } from 'commander';
import { scopes } from '../../config/section/scope.ts';
import type { Client } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { gather } from '../quantity.ts';

type UiCode = { readonly code: string; readonly path: string; readonly expires_at: string };
type UiOptions = { readonly scope?: readonly string[]; readonly open: boolean };

export const uiCommand = clientCommand<UiOptions>({
  usage: 'ui',
  description: 'open the dashboard in a browser, signed in; prints an address that works once, within 60 seconds',
  examples: ['headgate ui', 'headgate ui --scope jobs:ro --scope events:ro --no-open'],
  options: [
    new Option('--scope <scope>', 'a scope of the session; can be repeated (default: all scopes of the token)')
      .choices(scopes)
      .argParser(gather),
    new Option('--no-open', 'only print the address'),
  ],
  async run({ client, options, io, out }) {
    const shape = { code: true, path: true, expires_at: true } as const;
    const given = options.scope ? { scopes: options.scope } : {};
    const { code, path, expires_at } = await client.post<UiCode>('/ui/code', shape, given);
    const url = `${pageOrigin(client)}${path}#code=${code}`;
    await out.answer({ url, expires_at }, () => [url]);
    if (options.open && !out.json) openBrowser(url, io.env);
  },
});

/**
 * The origin at which a browser opens the service. It has the host name from the certificate, if one is known, because a browser refuses a
 * certificate that is not valid for the host in the address.
 */
function pageOrigin({ url, serverName }: Pick<Client, 'url' | 'serverName'>): string {
  if (serverName === undefined) return url;
  const { protocol, port } = new URL(url);
  return `${protocol}//${serverName}${port === '' ? '' : `:${port}`}`;
}

/** Opens the URL in a browser if there is a desktop. If no browser starts, the user can open the printed URL. */
function openBrowser(url: string, env: { readonly [name: string]: string | undefined }): void {
  const isMac = process.platform === 'darwin';
  if (!isMac && !env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return;
  const browser = spawn(isMac ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true });
  browser.on('error', () => {});
  browser.unref();
}
