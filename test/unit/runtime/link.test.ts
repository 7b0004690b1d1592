// The link between two threads: what is taken back before it is sent.
import { expect, test } from 'vitest';
import { openLink } from '../../../runtime/link.ts';
import { unpackMessages } from '../../../runtime/packing.ts';

test('a message whose asker is gone when the packet is sent stays behind, and its ask is answered here', async () => {
  const sent: unknown[] = [];
  const port = { postMessage: (bytes: Uint8Array) => sent.push(...unpackMessages(bytes)), on() {} };
  const link = openLink({ port: port as never, onMessage() {} });
  const [staying, leaving] = [{ isGone: false }, { isGone: false }];
  const answer = 'taken back';
  void link.ask('vault', { n: 1 }, { asker: staying, answer });
  const gone = link.ask('vault', { n: 2 }, { asker: leaving, answer });
  link.tell('vault', { n: 3 });
  leaving.isGone = true;
  link.flush();
  expect(await gone).toBe(answer);
  expect(sent).toMatchObject([
    ['vault', { n: 1 }],
    ['vault', { n: 3 }],
  ]);
  // What has been sent is not taken back any more.
  staying.isGone = true;
  link.tell('vault', { n: 4 });
  link.flush();
  expect(sent).toHaveLength(3);
});
