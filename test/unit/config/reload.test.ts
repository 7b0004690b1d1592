// What a reload keeps until the next start.
import { describe, expect, it } from 'vitest';
import { compareForReload } from '../../../config/reload.ts';
import { checkListeners } from '../../../config/section/listen.ts';
import { restartSettings } from '../../../config/section/restart.ts';
import { emptyMap } from '../../../config/source/tree.ts';
import { loaded } from './sandbox.ts';

describe('compareForReload', () => {
  const old = loaded({ 'config.yaml': 'state: { path: /tmp/one }\napi: { listen: "127.0.0.1:0" }' });

  it('takes everything over when nothing of it needs a restart', () => {
    const next = loaded({
      'config.yaml': 'state: { path: /tmp/one }\napi: { listen: "127.0.0.1:0", max_body_size: 2 }',
    });
    expect(compareForReload(old, next)).toEqual({ kept: [], config: next });
  });

  it('keeps listen addresses and the state path, names them, and takes over the rest', () => {
    const next = loaded({
      'config.yaml': `service: { name: other }
state: { path: /tmp/two, retention: { jobs: 1d } }
api: { enabled: false, listen: "0.0.0.0:9", max_body_size: 2 }
webhooks: { listen: "0.0.0.0:10" }`,
    });
    const { kept, config } = compareForReload(old, next);
    expect(kept).toEqual(['state.path', 'api.enabled', 'api.listen', 'webhooks.listen']);
    expect(config.api).toEqual({ ...old.api, bodyBytesMax: 2 });
    expect(config.webhooks).toEqual(old.webhooks);
    expect(config.state).toEqual({
      path: '/tmp/one',
      retention: { jobsMs: 86_400_000, jobsMax: 10_000_000, heldMs: 30 * 86_400_000 },
      log: { segmentBytes: 16 * 2 ** 20, churnBytes: 32 * 2 ** 20 },
    });
    expect(config.vault.keyFile).toBe('/tmp/one/vault.key');
    expect(config.service.name).toBe('other');
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('hides the paths that stay in use from plugins in bubblewrap, and the new ones', () => {
    const having = (name: string) =>
      loaded({
        'config.yaml': `state: { path: /tmp/${name} }\nplugins: { spy: { sandbox: bwrap } }`,
        'plugins/spy/manifest.yaml':
          'manifest_spec: headgate.plugin\nname: spy\nversion: 1.0.0\nprotocol: 2\nentrypoint: run\ncommands: [{ name: handle }]\n',
        'plugins/spy/run*': '',
      });
    const tls = { cert: '/tmp/tls/cert.pem', key: '/tmp/tls/key.pem' };
    const before = having('one');
    const { config } = compareForReload({ ...before, api: { ...before.api, tls } }, having('two'));
    const { hidden } = config.plugins['spy']!.sandbox!;
    const keys = ['/tmp/one/vault.key', '/tmp/one/vault.key.next', tls.key];
    expect(hidden).toEqual(expect.arrayContaining(['/tmp/one', '/tmp/two', ...keys]));
  });

  it.each(restartSettings)('keeps $key alone where it alone changes', ({ key, setting }) => {
    const [section, property] = setting.split('.') as ['api', string];
    const next = { ...old, [section]: { ...old[section], [property]: 'changed' } } as typeof old;
    const { kept, config } = compareForReload(old, next);
    expect(kept).toEqual([key]);
    expect(config).toEqual(old);
  });

  it('takes other files of a certificate over, and keeps whether there is one', () => {
    const [one, two] = [
      { cert: '/1', key: '/1' },
      { cert: '/2', key: '/2' },
    ];
    const having = (tls?: typeof one) => ({ ...old, api: { ...old.api, ...(tls && { tls }) } });
    expect(compareForReload(having(one), having(two))).toEqual({ kept: [], config: having(two) });
    expect(compareForReload(having(one), having())).toEqual({ kept: ['api.tls'], config: having(one) });
    expect(compareForReload(having(), having(two))).toEqual({ kept: ['api.tls'], config: having() });
  });

  it('keeps the whole section with a log that no scheduled backup would bound any more', () => {
    const having = (backups: string) => loaded({ 'config.yaml': `state: { path: /tmp/one }\n${backups}` });
    const before = having('backups: { every: 1h, keep: 3, into: /tmp/kept, log: true }');
    const { kept, config } = compareForReload(before, having(''));
    expect([kept, config.backups]).toEqual([['backups'], before.backups]);
    const later = compareForReload(before, having('backups: { every: 2h, into: /tmp/other }'));
    expect(later.kept).toEqual(['backups.log']);
    expect(later.config.backups).toEqual({ everyMs: 7_200_000, keep: 7, into: '/tmp/other', log: true });
    const off = compareForReload(having('backups: { every: 1h }'), having(''));
    expect([off.kept, off.config.backups]).toMatchObject([[], { everyMs: null, log: false }]);
  });

  const sections: readonly (readonly string[])[] = [
    ['backups: {}', 'backups: { every: 1h }', 'backups: { every: 1h, log: true }', 'backups: { keep: 2 }'],
    [
      'api: { listen: 127.0.0.1:1 }\nwebhooks: { listen: 127.0.0.1:2 }',
      'api: { listen: 127.0.0.1:2 }\nwebhooks: { listen: 127.0.0.1:1 }\nmetrics: { listen: 127.0.0.1:3 }',
      'api: { enabled: false, listen: 127.0.0.1:1 }\nwebhooks: { listen: 127.0.0.1:1 }',
      'webhooks: { listen: 127.0.0.1:3 }\nmetrics: { listen: 127.0.0.1:1 }',
    ],
  ];
  it.each(sections)('makes no configuration that the checker would refuse: %s', (...texts) => {
    const all = texts.map(text => loaded({ 'config.yaml': text }));
    const root = emptyMap({ file: 'config.yaml', line: 1, column: 1 });
    for (const before of all) {
      for (const next of all) {
        const { config } = compareForReload(before, next);
        expect(config.backups).not.toMatchObject({ log: true, everyMs: null });
        checkListeners(root, config, (_, message) => expect.fail(message));
      }
    }
  });

  it('keeps a setting absent that was absent', () => {
    const { listen, ...api } = old.api;
    const without = { ...old, api } as typeof old;
    const { kept, config } = compareForReload(without, { ...old, api: { ...api, listen } });
    expect([kept, Object.keys(config.api)]).toEqual([['api.listen'], Object.keys(api)]);
  });
});
