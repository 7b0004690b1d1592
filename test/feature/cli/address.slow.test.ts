// Where the command calls and with what tokens, also where the configuration is wrong or needs variables that only the service has.
import {
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findAddress } from '../../../cli/client/address.ts';
import { processIo } from '../../../cli/io.ts';
import { leaveAddress } from '../../../cli/start/running.ts';
import { canary } from '../../service/canary/canary.ts';
import { startGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { headgate } from './headgate.ts';

const local = 'hg_some-token';

test.each([
  ['--url counts most', '--url http://[::1]:1/base/', { HEADGATE_URL: 'http://b' }, 'http://[::1]:1/base'],
  ['then HEADGATE_URL', '', { HEADGATE_URL: 'https://b.example:8443' }, 'https://b.example:8443'],
])('%s', async (_, line, env, url) => {
  const [, named] = line.split(' ');
  const tokenHint = expect.stringMatching(/no token was sent .*: set HEADGATE_TOKEN$/);
  expect(await address({ ...(named && { url: named }) }, env)).toEqual({ url, tokens: [], notes: [], tokenHint });
  expect(await address({ url }, { HEADGATE_TOKEN: 'mine' })).toMatchObject({ tokens: ['mine'], tokenHint: null });
});

test.each([
  ['127.0.0.1:8123', 'http://127.0.0.1:8123'],
  ['0.0.0.0:8123', 'http://127.0.0.1:8123'],
  ['"[::]:8123"', 'http://[::1]:8123'],
])('without a name it is api.listen of the configuration: %s', async (listen, url) => {
  const directory = configuration(`api: { listen: ${listen} }`);
  const found = { url, tokens: [local], notes: [], tokenHint: null };
  expect(await address({ config: directory })).toEqual(found);
  expect(await address({}, {}, directory)).toEqual(found);
  expect(await address({ config: directory }, { HEADGATE_TOKEN: 'mine' })).toEqual({ ...found, tokens: ['mine'] });
});

test('tokens of a configuration go to its own address and to no other', async () => {
  const directory = configuration('api: { listen: 127.0.0.1:8123 }');
  expect(await address({ config: directory, url: 'http://b' })).toMatchObject({ url: 'http://b', tokens: [] });
  expect(await address({ config: directory }, { HEADGATE_URL: 'http://b' })).toMatchObject({ tokens: [] });
});

test('of the tokens of a configuration those for everything come first, and those that have ended not at all', async () => {
  const tokens = `
    - { token: narrow, scopes: [jobs:ro] }
    - { token: ended, scopes: ["*"], expires_at: 2020-01-01T00:00:00Z }
    - { token: "\${WIDE}", scopes: ["*"] }`;
  const directory = configuration(`api:\n  auth:\n   tokens:${tokens}`);
  expect(await address({ config: directory }, { WIDE: 'wide' })).toMatchObject({ tokens: ['wide', 'narrow', local] });
});

test('the address that a running service has left counts more than api.listen', async () => {
  const directory = configuration('api: { listen: 127.0.0.1:8123 }');
  leaveAddress(join(directory, 'data'), { host: '0.0.0.0', port: 4711 });
  expect(await address({ config: directory })).toMatchObject({ url: 'http://127.0.0.1:4711' });
  leaveAddress(join(directory, 'data'), { host: '203.0.113.7', port: 4711 });
  await expect(address({ config: directory })).rejects.toMatchObject({ exitStatus: 2 });
});

test('a service with TLS is called by https, and known by the name that it has left', async () => {
  const directory = configuration('api: { listen: 127.0.0.1:8123, tls: { cert: c, key: k } }');
  expect(await address({ config: directory })).toMatchObject({ url: 'https://127.0.0.1:8123' });
  expect(await address({ config: directory })).not.toHaveProperty('serverName');
  const left = { host: '0.0.0.0', port: 4711 };
  leaveAddress(join(directory, 'data'), { ...left, tls: { name: 'gate.example' } });
  expect(await address({ config: directory })).toMatchObject({
    ...{ url: 'https://127.0.0.1:4711', serverName: 'gate.example' },
  });
  leaveAddress(join(directory, 'data'), { ...left, tls: {} });
  expect(await address({ config: directory })).not.toHaveProperty('serverName');
});

test.each([
  ['of a process that has ended', { host: '127.0.0.1', port: 4711, process: { pid: 1, startTicks: '1' } }],
  ['that is no address', { host: '127.0.0.1', port: -1 }],
  ['that is no document', 'nonsense'],
])('an address %s is passed over', async (_, left) => {
  const directory = configuration('api: { listen: 127.0.0.1:8123 }');
  writeFileSync(join(directory, 'data/api-address'), JSON.stringify(left));
  expect(await address({ config: directory })).toMatchObject({ url: 'http://127.0.0.1:8123' });
});

test.each([
  ['an unset variable elsewhere', `service: { name: "\${NAME}" }`, []],
  ['a wrong key', 'nonsense: 1', []],
  ['a broken plugin', 'plugins: { ghost: { enabled: true } }', []],
  ['an include that is missing', 'include: [elsewhere.yaml]', []],
  ['a wrong value elsewhere', 'service: { max_workers: many }', []],
])('%s changes nothing', async (_, text, notes) => {
  const directory = configuration(`api: { listen: 127.0.0.1:8123 }\n${text}`);
  expect(await address({ config: directory })).toMatchObject({ url: 'http://127.0.0.1:8123', tokens: [local], notes });
});

test.each([
  [
    'a variable that is unset',
    `api: { listen: "127.0.0.1:\${PORT}" }`,
    /config.yaml:1:16: api.listen: .* PORT is not set; set it/,
  ],
  ['a file that is not YAML', 'api: { listen: 127.0.0.1:8123', /config.yaml:1:\d+: is not valid YAML/],
  ['a file that is missing', 'include: [api.yaml]', /config.yaml:1:11: include\[0\]: .*api.yaml does not exist/],
  [
    'a value that is none',
    'api: { listen: 8123 }',
    /config.yaml:1:16: api.listen: is not valid; it must be a host and a port/,
  ],
])('where api.listen cannot be read it is the default, which is said: %s', async (_, text, reason) => {
  const { url, notes } = await address({ config: configuration(text) });
  const guess = 'cannot read api.listen, assuming 127.0.0.1:8080: ';
  expect([url, notes]).toEqual(['http://127.0.0.1:8080', [expect.stringMatching(reason)]]);
  expect(notes[0]!.startsWith(guess)).toBe(true);
});

test.each([
  ['listen', 'api: { listen: }', 'http://127.0.0.1:8080'],
  ['tls', 'api: { listen: 127.0.0.1:8123, tls: }', 'http://127.0.0.1:8123'],
  ['path of the state', 'api: { listen: 127.0.0.1:8123 }\nstate: { path: }', 'http://127.0.0.1:8123'],
])('a key without a value is unset: %s', async (_, text, url) => {
  expect(await address({ config: configuration(text) })).toEqual({ url, tokens: [local], notes: [], tokenHint: null });
});

test('where state.path is no path, tokens may be missing, which is said', async () => {
  const { tokenHint } = await address({ config: configuration('state: { path: [data] }') });
  expect(tokenHint).toMatch(
    /^cannot read a token: .*:1:16: state.path: is not valid; it must be a path such as .\/data/,
  );
});

test('a token whose variable is unset is named where the service refuses the call, in one line', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const token = `{ token: "\${HEADGATE_TOKEN_CI}", scopes: ["*"] }`;
  writeFileSync(join(gateway.directory, 'config.yaml'), `api: { auth: { tokens: [${token}] } }`);
  const { status, stderr, json } = await headgate(['job', 'list', '--json', '--config', gateway.directory]);
  expect([status, json.code]).toEqual([3, 'unauthorized']);
  const [, ...hints] = stderr.trimEnd().split('\n');
  const hint =
    /^cannot read a token: .*config.yaml:1:\d+: api.auth.tokens\[0\].token: .* HEADGATE_TOKEN_CI is not set; set it/;
  expect(hints).toEqual([expect.stringMatching(hint)]);
  const open = await headgate(['plugin', 'list', '--config', gateway.directory]);
  expect([open.status, open.stderr]).toEqual([0, '']);
});

test('a running service is found by a configuration that has become wrong, at a port of its own choice', async () => {
  const gateway = await startGateway({ plugins: { echo } });
  const words = ['job', 'list', '--json', '--config', gateway.directory];
  expect((await headgate(words)).json.jobs).toEqual([]);
  const file = join(gateway.directory, 'config.yaml');
  const wrong = { nonsense: 1, plugins: { ghost: { uses: `\${ONLY_THE_SERVICE_HAS_IT}` } } };
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...wrong }));
  const { status, stderr, json } = await headgate(words);
  expect([status, stderr, json.jobs]).toEqual([0, 'nothing matches\n', []]);
  const reload = await headgate(['reload', '--config', gateway.directory]);
  expect([reload.status, reload.stderr]).toEqual([78, expect.stringMatching(/nonsense: is not a known key/)]);
  await gateway.term();
  const gone = await headgate(words);
  expect([gone.status, gone.json.code]).toEqual([69, 'unreachable']);
});

test('a token that is not in force yet does not stop the reload that brings it', async () => {
  const gateway = await startGateway({ plugins: { echo }, api: { auth: { tokens: [] } } });
  const file = join(gateway.directory, 'config.yaml');
  const auth = { tokens: [{ token: canary('a token of the next configuration'), scopes: ['*'] }] };
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), api: { listen: '127.0.0.1:0', auth } }),
  );
  for (const _ of ['with the token of the first start', 'with its own'])
    expect(await headgate(['reload', '--config', gateway.directory])).toMatchObject({ status: 0, stderr: '' });
});

describe.skipIf(process.getuid?.() !== 0)(
  'a configuration that another user has put into the working directory',
  () => {
    const api = `api: { listen: 127.0.0.1:8123, auth: { tokens: [{ token: "\${HOME_SECRET}", scopes: ["*"] }] } }`;
    const env = { HOME_SECRET: 'a-value-of-the-caller' };

    test.each([
      ['a file', (file: string) => chownSync(file, 1234, 1234)],
      [
        'a link to a file of root, beside which are the includes',
        (file: string) => {
          const target = configuration('include: [api.yaml]');
          rmSync(file);
          symlinkSync(join(target, 'config.yaml'), file);
          lchownSync(file, 1234, 1234);
          writeFileSync(join(dirname(file), 'api.yaml'), api);
        },
      ],
      [
        'a link of root to a file of the other user',
        (file: string) => {
          renameSync(file, join(dirname(file), 'other.yaml'));
          chownSync(join(dirname(file), 'other.yaml'), 1234, 1234);
          symlinkSync('other.yaml', file);
        },
      ],
    ])('gets no token, unless it is named: %s', async (_, give) => {
      const directory = configuration(api);
      give(join(directory, 'config.yaml'));
      for (const more of [{}, { HEADGATE_TOKEN: 'mine' }]) {
        const tokenHint = expect.stringMatching(/belongs to another user; name it with --config, or .* --url$/);
        const found = { url: 'http://127.0.0.1:8123', tokens: [], tokenHint };
        expect(await address({}, { ...env, ...more }, directory)).toMatchObject(found);
      }
      const own = ['a-value-of-the-caller', local];
      expect(await address({ config: directory }, env)).toMatchObject({ tokens: own });
      expect(await address({}, { ...env, HEADGATE_CONFIG: directory }, directory)).toMatchObject({ tokens: own });
      const given = { HEADGATE_TOKEN: 'mine' };
      expect(await address({ config: directory }, given, directory)).toMatchObject({ tokens: ['mine'] });
      expect(await address({ url: 'http://127.0.0.1:8123' }, given, directory)).toMatchObject({ tokens: ['mine'] });
    });

    test('gets no token of the vault, and no secret', async () => {
      const cwd = configuration('api: { listen: 127.0.0.1:1 }');
      chownSync(join(cwd, 'config.yaml'), 1234, 1234);
      const set = (...more: string[]) => {
        const stdin = canary('a secret for the vault');
        return headgate(['vault', 'secret', 'set', 's', ...more], {
          cwd,
          stdin,
          env: { SERVICE_VAULT_TOKEN: 'admin' },
        });
      };
      const { status, stderr } = await set();
      expect([status, stderr]).toEqual([3, expect.stringContaining('belongs to another user; name it with --config')]);
      expect((await set('--config', cwd)).status).toBe(69);
    });
  },
);

test.each([
  ['a user in it', 'http://me:pw@host'],
  ['another scheme', 'file:///etc/passwd'],
  ['a query', 'http://host/?a=b'],
  ['no URL', 'localhost:8080'],
])('a URL with %s is wrong use', async (_, url) => {
  await expect(address({ url })).rejects.toMatchObject({ exitStatus: 2 });
});

test.each(['203.0.113.7:80', 'elsewhere.example:8080'])(
  'a configuration that is found cannot send a token to another machine: %s',
  async listen => {
    const cwd = configuration(`api: { listen: "${listen}" }`);
    const { status, stderr } = await headgate(['status'], { cwd, env: { HEADGATE_TOKEN: 'mine' } });
    expect([status, stderr]).toEqual([2, expect.stringContaining('not an address of this machine')]);
  },
);

test('without a configuration, an API or a port the command says what is missing', async () => {
  const missing = await headgate(['status', '--json', '--config', '/nonexistent']);
  expect([missing.status, missing.json.code]).toEqual([78, 'invalid_configuration']);
  expect(missing.stderr).toMatch(/--url or HEADGATE_URL/);
  expect((await headgate(['status', '--config', configuration('api: { enabled: false }')])).status).toBe(2);
  const portless = await headgate(['status', '--config', configuration('api: { listen: 127.0.0.1:0 }')]);
  expect([portless.status, portless.stderr]).toEqual([69, expect.stringContaining('no service is running on')]);
  expect((await headgate(['status'], { cwd: '/nonexistent' })).stderr).toContain('no configuration found');
});

function address(options: object, env: { readonly [name: string]: string } = {}, cwd = '/nonexistent') {
  return findAddress(options, { ...processIo(), env, cwd });
}

/** A directory with this configuration, and a token file in its state directory. */
function configuration(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'config.yaml'), text);
  mkdirSync(join(directory, 'data'));
  writeFileSync(join(directory, 'data/api-token'), `${local}\n`);
  return directory;
}
