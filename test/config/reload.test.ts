// What a reload keeps until the next start.
import { describe, expect, it } from 'vitest';
import { compareForReload } from '../../config/reload.ts';
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
    expect(kept).toEqual(['api.enabled', 'api.listen', 'webhooks.listen', 'state.path']);
    expect(config.api).toEqual({ ...old.api, bodyBytesMax: 2 });
    expect(config.webhooks).toEqual(old.webhooks);
    expect(config.state).toEqual({ path: '/tmp/one', retention: { jobsMs: 86_400_000, jobsMax: 10_000_000 } });
    expect(config.vault.keyFile).toBe('/tmp/one/vault.key');
    expect(config.service.name).toBe('other');
    expect(Object.isFrozen(config)).toBe(true);
  });
});
