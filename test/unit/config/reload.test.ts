// What a reload keeps until the next start.
import { describe, expect, it } from 'vitest';
import { compareForReload } from '../../../config/reload.ts';
import { restartSettings } from '../../../config/section/restart.ts';
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
    expect(hidden).toEqual(expect.arrayContaining(['/tmp/one', '/tmp/one/vault.key', '/tmp/two', tls.key]));
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

  it('keeps a setting absent that was absent', () => {
    const { listen, ...api } = old.api;
    const without = { ...old, api } as typeof old;
    const { kept, config } = compareForReload(without, { ...old, api: { ...api, listen } });
    expect([kept, Object.keys(config.api)]).toEqual([['api.listen'], Object.keys(api)]);
  });
});
