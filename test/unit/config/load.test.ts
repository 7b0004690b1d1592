// What a right configuration becomes: defaults, merging, paths, tokens, webhooks; and how it is found and read.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { instanceNamed } from '../../../config/config.ts';
import { loadConfig } from '../../../config/load.ts';
import { diskFiles } from '../../../config/source/files.ts';
import { loaded, loadFiles, loadSandbox, makeSandbox, plugin } from './sandbox.ts';

describe('an empty configuration', () => {
  it('has every default', () => {
    const config = loaded({ 'config.yaml': '' });
    const directory = config.mainFile.replace('/config.yaml', '');
    expect(config).toEqual({
      mainFile: join(directory, 'config.yaml'),
      files: [join(directory, 'config.yaml')],
      service: {
        name: 'headgate',
        logLevel: 'info',
        strictMode: false,
        workersMax: 2,
        queueDepthMax: 1_000_000,
        waitingMax: 10_000_000,
        jobsPerRootMax: 10_000_000,
        pluginEnvPassthrough: [],
      },
      log: { format: null, jobs: 'failed', perMinute: 600 },
      state: {
        path: join(directory, 'data'),
        retention: { jobsMs: 30 * 86_400_000, jobsMax: 10_000_000, heldMs: 30 * 86_400_000 },
        log: { segmentBytes: 16 * 2 ** 20, churnBytes: 32 * 2 ** 20 },
      },
      api: {
        ...{ enabled: true, server: 'auto', listen: { host: '127.0.0.1', port: 8080 } },
        ...{ bodyBytesMax: 1_048_576, batchBytesMax: 16_777_216, tokens: [] },
      },
      webhooks: { listen: { host: '127.0.0.1', port: 8081 }, endpoints: [] },
      metrics: { listen: null, seriesMax: 5_000 },
      tokens: {},
      pluginRoots: [join(directory, 'plugins')],
      plugins: {},
      disabledPlugins: {},
      unusablePlugins: [],
      pipelines: [],
      schedules: [],
      ui: { enabled: true, path: '/ui' },
      vault: { keyFile: join(directory, 'data/vault.key'), auditRetentionMs: 90 * 86_400_000, auditExport: null },
      backups: { everyMs: null, keep: 7, into: join(directory, 'backups'), log: false },
      warnings: [],
    });
  });

  it('may be a comment, or only the start of a document', () => {
    expect(loadFiles({ 'config.yaml': '# nothing\n' }).ok).toBe(true);
    expect(loadFiles({ 'config.yaml': '---\n' }).ok).toBe(true);
  });
});

describe('finding', () => {
  const at = (directory: string, env: { [name: string]: string }, path?: string) => {
    const result = loadConfig({ path, env, cwd: join(directory, 'cwd'), processors: 1 });
    return result.ok ? result.config.service.name : result.problems[0]!.replaceAll(directory, '~');
  };
  const named = (name: string) => `service: { name: ${name} }`;
  const files = {
    'given/config.yaml': named('directory'),
    'given/other.yaml': named('file'),
    'env/config.yaml': named('environment'),
    'xdg/headgate/config.yaml': named('xdg'),
    'home/.config/headgate/config.yaml': named('home'),
    'empty/x.yaml': '',
  };

  it('goes by --config, $HEADGATE_CONFIG, the working directory, $XDG_CONFIG_HOME', () => {
    const directory = makeSandbox(files);
    mkdirSync(join(directory, 'cwd'));
    const env = { HEADGATE_CONFIG: '../env', XDG_CONFIG_HOME: join(directory, 'xdg') };
    expect(at(directory, env, '../given')).toBe('directory');
    expect(at(directory, env, join(directory, 'given/other.yaml'))).toBe('file');
    expect(at(directory, env)).toBe('environment');
    expect(at(directory, { ...env, HEADGATE_CONFIG: '' })).toBe('xdg');
    expect(at(directory, { HOME: join(directory, 'home') })).toBe('home');
    writeFileSync(join(directory, 'cwd/config.yaml'), named('cwd'));
    expect(at(directory, { XDG_CONFIG_HOME: join(directory, 'xdg') })).toBe('cwd');
  });

  it('says what is missing and does not look further when one is named', () => {
    const directory = makeSandbox(files);
    mkdirSync(join(directory, 'cwd'));
    expect(at(directory, {}, '../gone')).toBe(
      '~/gone:1:1: does not exist; --config must name a file, or a directory with a config.yaml',
    );
    expect(at(directory, { HEADGATE_CONFIG: '../empty' })).toBe(
      '~/empty/config.yaml:1:1: does not exist; $HEADGATE_CONFIG must name a directory with a config.yaml in it',
    );
    expect(at(directory, { XDG_CONFIG_HOME: join(directory, 'gone') })).toBe(
      'no configuration found: looked for ~/cwd/config.yaml, ~/gone/headgate/config.yaml, /etc/headgate/config.yaml; name one with --config, or create one with "headgate init DIR"',
    );
  });
});

describe('reading', () => {
  it('reads each file exactly once, through the function it is given', () => {
    const directory = makeSandbox({
      'config.yaml': 'include: [a.yaml, parts]',
      'a.yaml': 'include: [parts/sub/c.yaml]',
      'parts/b.yaml': '',
      'parts/a.yaml': '',
      'parts/sub/c.yaml': '',
      ...plugin('echo'),
    });
    const read: string[] = [];
    const disk = {
      ...diskFiles,
      read: (path: string) => {
        read.push(path.slice(directory.length + 1));
        return diskFiles.read(path);
      },
    };
    const result = loadSandbox(directory, { disk });
    expect(result.ok).toBe(true);
    const closure = ['config.yaml', 'a.yaml', 'parts/sub/c.yaml', 'parts/a.yaml', 'parts/b.yaml'];
    expect(read).toEqual([...closure, 'plugins/echo/manifest.yaml']);
    if (result.ok) expect(result.config.files).toEqual(closure.map(name => join(directory, name)));
  });

  it('misses the file that a link in an included directory leads to', () => {
    const directory = makeSandbox({ 'config.yaml': 'include: [parts]', 'parts/a.yaml': '' });
    symlinkSync('gone.yaml', join(directory, 'parts/webhooks.yaml'));
    expect(loadSandbox(directory)).toMatchObject({
      ok: false,
      problems: ['~/config.yaml:1:11: include[0]: ~/parts/webhooks.yaml does not exist (config.yaml -> webhooks.yaml)'],
    });
  });

  it('says why a file cannot be read', () => {
    const directory = makeSandbox({ 'config.yaml': 'include: [a.yaml]', 'a.yaml': '' });
    const disk = {
      ...diskFiles,
      read: (path: string) => {
        if (path.endsWith('a.yaml')) throw Object.assign(new Error('no'), { code: 'EACCES' });
        return diskFiles.read(path);
      },
    };
    const result = loadSandbox(directory, { disk });
    expect(result).toMatchObject({
      ok: false,
      problems: ['~/config.yaml:1:11: include[0]: ~/a.yaml cannot be read (EACCES) (config.yaml -> a.yaml)'],
      warnings: [],
    });
  });

  it('refuses bytes that are no text, and nesting and aliases without end', () => {
    const first = (content: string | Uint8Array) => {
      const result = loadFiles({ 'config.yaml': content });
      return result.ok ? 'ok' : result.problems[0];
    };
    expect(first(Buffer.from([0xff, 0xfe]))).toBe('~/config.yaml:1:1: is not UTF-8 text; save the file as UTF-8');
    expect(first('['.repeat(100) + ']'.repeat(100))).toBe('~/config.yaml:1:1: is nested deeper than 64 levels');
    expect(first(`${'['.repeat(20_000)}`)).toMatch(/is nested too deeply|is not valid YAML/);
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 9; i++) {
      const [name, before] = ['abcdefghi'[i]!, 'abcdefghi'[i - 1]!];
      bomb.push(`${name}: &${name} [${`*${before},`.repeat(9)}*${before}]`);
    }
    expect(first(bomb.join('\n'))).toBe('~/config.yaml:1:1: has more than 200000 values, counting what aliases repeat');
    expect(first('a: &a [*a]')).toMatch(/is nested deeper than 64 levels|refers to no anchor/);
  });

  it('takes for an alias the last anchor before it, also inside what another alias repeats', () => {
    const config = loaded({
      'config.yaml': `plugins:
  echo:
    config:
      &key name: 0
      a: &x { k: &y 1, m: *y }
      c: &y 2
      b: [*x, *y, *key]`,
      ...plugin('echo'),
    });
    const a = { k: 1, m: 1 };
    expect(instanceNamed(config, 'echo')!.config).toEqual({ name: 0, a, c: 2, b: [a, 2, 'name'] });
  });

  it('sees the same file behind a link as the same file', () => {
    const directory = makeSandbox({ 'config.yaml': 'include: [a.yaml, b.yaml]', 'a.yaml': '' });
    symlinkSync('a.yaml', join(directory, 'b.yaml'));
    const result = loadSandbox(directory);
    expect(result.ok ? [] : result.problems).toEqual([
      '~/config.yaml:1:19: include[1]: ~/b.yaml is included twice, first at ~/config.yaml:1:11 (config.yaml -> b.yaml); include it once',
    ]);
  });
});

describe('merging over files', () => {
  it('merges maps deeply, appends lists, and takes false, 0 and "" as values', () => {
    const config = loaded({
      'config.yaml': `include: [a.yaml, more]
plugins: { echo: { config: { list: [1], deep: { a: 1 } }, retry: { max_attempts: 2 } } }`,
      'a.yaml': 'plugins: { echo: { config: { list: [2], deep: { b: false, c: 0, d: "" } } } }',
      'more/2.yaml': 'plugins: { echo: { config: { list: [4] } } }',
      'more/1.yaml': 'plugins: { echo: { config: { list: [3] }, parallelism: 3 } }',
      'more/ignored.yml': 'nonsense: true',
      'more/.hidden.yaml': 'nonsense: true',
      ...plugin('echo'),
    });
    const echo = instanceNamed(config, 'echo')!;
    expect(echo.config).toEqual({ list: [1, 2, 3, 4], deep: { a: 1, b: false, c: 0, d: '' } });
    expect([echo.retry.attemptsMax, echo.parallelism]).toEqual([2, 3]);
  });

  it('takes relative paths from the file that names them', () => {
    const absolute = makeSandbox({ x: '' });
    const config = loaded({
      'config.yaml': 'include: [sub/a.yaml]\nplugin_roots: [one]',
      'sub/a.yaml': `state: { path: store }\nvault: { key_file: ../k }\nplugin_roots: [two, ${absolute}]`,
      'one/x': '',
      'sub/two/x': '',
    });
    const here = config.mainFile.replace('/config.yaml', '');
    expect(config.state.path).toBe(join(here, 'sub/store'));
    expect(config.vault.keyFile).toBe(join(here, 'k'));
    expect(config.pluginRoots).toEqual([join(here, 'one'), join(here, 'sub/two'), absolute]);
  });
});

describe('the result', () => {
  it('is plain data, frozen to its depth', () => {
    const config = loaded({
      'config.yaml': `plugins: { echo: { config: { a: [{ b: 1 }] } } }
pipelines: [{ name: p, steps: [{ uses: echo, with: { a: "{payload.a}" } }] }]`,
      ...plugin('echo'),
    });
    expect(structuredClone(config)).toEqual(config);
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(inner => isFrozen(inner)));
    expect(isFrozen(config)).toBe(true);
    expect(config.pipelines.map(pipeline => pipeline.name)).toEqual(['p']);
  });

  it('knows no instance that nobody configured', () => {
    const config = loaded({ 'config.yaml': '', ...plugin('echo') });
    expect(instanceNamed(config, 'echo')?.name).toBe('echo');
    expect(instanceNamed(config, 'constructor')).toBeUndefined();
  });
});

describe('variables', () => {
  it('types an unquoted scalar again and leaves a quoted one a text', () => {
    const config = loaded(
      {
        'config.yaml': `plugins:
  echo:
    config:
      number: \${N}
      text: "\${N}"
      single: '\${N}'
      joined: \${N}\${N}
      flag: \${F}
      nothing: \${E:-}
      fallback: \${UNSET:-7}
      quotedFallback: "\${UNSET:-7}"
      empty: \${E:-x}
      literal: $\${N} is $\${N}
      block: |
        \${N}
      list: \${L}`,
        ...plugin('echo'),
      },
      { N: '42', F: 'true', E: '', L: '[1, 2]' },
    );
    expect(instanceNamed(config, 'echo')!.config).toEqual({
      number: 42,
      text: '42',
      single: '42',
      joined: 4242,
      flag: true,
      nothing: null,
      fallback: 7,
      quotedFallback: '7',
      empty: 'x',
      literal: `$\{N} is $\{N}`,
      block: '42\n',
      list: '[1, 2]',
    });
  });
});

describe('tokens and webhooks', () => {
  it('reads API tokens with their end', () => {
    const { tokens } = loaded(
      {
        'config.yaml': `api:
  auth:
    tokens:
      - { name: ci, token: "\${T}", scopes: [plugin:rw, jobs:ro], expires_at: 2027-01-01T00:00:00Z }
      - { token: "\${U}", scopes: ["*"] }
`,
      },
      { T: 'one', U: '2' },
    ).api;
    expect(tokens).toEqual([
      { name: 'ci', token: 'one', scopes: ['plugin:rw', 'jobs:ro'], expiresAtMs: Date.UTC(2027, 0, 1) },
      { name: null, token: '2', scopes: ['*'], expiresAtMs: null },
    ]);
  });

  it('reads endpoints with their guards', () => {
    const config = loaded({
      'config.yaml': `
tokens: [{ name: k, key: 0123456789abcdef }, { name: s, key: whsec_MDEyMzQ1Njc4OWFiY2RlZg== }]
webhooks:
  listen: "[::1]:0"
  endpoints:
    - { name: a, path: /webhook/a, plugin: echo, secret_ref: k, signature_header: X-Sig, max_body_size: 2KB }
    - { name: b, path: /webhook/b, plugin: echo, secret_ref: k, signature_header: X-Sig, timestamp_header: X-Time, id_header: X-Id }
    - { name: c, path: /webhook/c, plugin: echo, secret_ref: s, scheme: standard-webhooks, tolerance: 1m }
`,
      ...plugin('echo'),
    });
    expect(config.webhooks.listen).toEqual({ host: '::1', port: 0 });
    expect(config.tokens).toEqual({ k: '0123456789abcdef', s: 'whsec_MDEyMzQ1Njc4OWFiY2RlZg==' });
    const plain = { plugin: 'echo', secretRef: 'k', signatureHeader: 'X-Sig' };
    expect(config.webhooks.endpoints).toEqual([
      { name: 'a', path: '/webhook/a', ...plain, bodyBytesMax: 2048 },
      {
        name: 'b',
        path: '/webhook/b',
        ...plain,
        bodyBytesMax: 1_048_576,
        timestamp: { header: 'X-Time', toleranceMs: 300_000 },
        idHeader: 'X-Id',
      },
      {
        name: 'c',
        path: '/webhook/c',
        plugin: 'echo',
        secretRef: 's',
        signatureHeader: 'webhook-signature',
        bodyBytesMax: 1_048_576,
        scheme: 'standard-webhooks',
        timestamp: { header: 'webhook-timestamp', toleranceMs: 60_000 },
        idHeader: 'webhook-id',
      },
    ]);
  });
});

describe('example.yaml', () => {
  it('loads', () => {
    const directory = makeSandbox({
      'config.yaml': readFileSync(new URL('example.yaml', import.meta.url), 'utf8'),
      ...plugin('echo'),
    });
    const result = loadSandbox(directory, { env: { HEADGATE_TOKEN_CI: 'x', GITHUB_HMAC: '0123456789abcdef' } });
    expect(result.ok ? Object.keys(result.config.plugins) : result.problems).toEqual(['echo', 'echo_loud']);
  });
});

describe('schedules of a plugin, in the form of ductile', () => {
  it('have ids by their place, named intervals, and rules under the names of headgate', () => {
    const { schedules } = loaded({
      'config.yaml': `plugins:
  echo:
    schedules:
      - { every: hourly, command: handle }
      - { every: daily, if_running: queue, command: handle }
      - { every: weekly, if_running: cancel, command: handle }
      - { id: mine, cron: "0 3 * * *", command: handle }
`,
      ...plugin('echo'),
    });
    const hour = 3_600_000;
    const every = (everyMs: number) => ({ kind: 'every', everyMs });
    expect(schedules.map(({ id, recurrence, ifRunning }) => [id, recurrence, ifRunning])).toEqual([
      ['echo.0', every(hour), 'skip'],
      ['echo.1', every(24 * hour), 'queue'],
      ['echo.2', every(7 * 24 * hour), 'replace'],
      ['echo.3', { kind: 'cron', cron: '0 3 * * *', timezone: expect.any(String) }, 'skip'],
    ]);
  });
});

it('a reload does not look again for the shortest interval of each cron expression that has a jitter', () => {
  const schedules = Array.from({ length: 100 }, (_, n) => {
    const cron = `${n % 60} ${1 + Math.floor(n / 60)} ${1 + (n % 28)} * *`;
    return `  - { id: s${n}, plugin: echo, cron: "${cron}", timezone: Europe/Berlin, jitter: 5m }`;
  });
  const directory = makeSandbox({ 'config.yaml': `schedules:\n${schedules.join('\n')}`, ...plugin('echo') });
  const cpuOfLoad = () => {
    const before = process.cpuUsage();
    expect(loadSandbox(directory).ok).toBe(true);
    return process.cpuUsage(before).user;
  };
  const first = cpuOfLoad();
  expect(Math.min(cpuOfLoad(), cpuOfLoad(), cpuOfLoad())).toBeLessThan(first / 4);
});
