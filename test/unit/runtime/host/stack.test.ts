// The stack of what a worker plugin throws: it is the stderr of the attempt.
import { afterEach, expect, it } from 'vitest';
import type { Json } from '../../../../runtime/packing.ts';
import { clearStages, Stage } from './stage.ts';

afterEach(clearStages);

/** What a plugin throws, its entrypoint and code, and its stderr. */
const thrown = [
  [
    'its own class',
    'index.mjs',
    'class Refused extends Error {}\nexport function handle() {\n  check();\n}\nfunction check() { throw new Refused("no luck"); }',
    'Refused: no luck\n    at check (index.mjs:5:26)\n    at handle (index.mjs:3:3)\n',
  ],
  [
    'an error of another file, later',
    'index.mjs',
    'import { read } from "./lib/read.mjs";\nexport const handle = async () => { await null; read(null); };',
    "TypeError: Cannot read properties of null (reading 'a')\n    at read (lib/read.mjs:2:8)\n    at handle (index.mjs:2:49)\n",
  ],
  [
    'an error in CommonJS',
    'index.cjs',
    'exports.handle = () => {\n  null.a; };',
    "TypeError: Cannot read properties of null (reading 'a')\n    at exports.handle (index.cjs:2:8)\n",
  ],
  [
    'an error in TypeScript',
    'index.ts',
    'type Text = string;\nexport const handle = (): Text => { const none: any = null; return none.a; };',
    "TypeError: Cannot read properties of null (reading 'a')\n    at handle (index.ts:2:73)\n",
  ],
  [
    'an error with a cause that has no stack',
    'index.mjs',
    'export const handle = () => { try { JSON.parse(""); } catch (cause) { delete cause.stack; throw new Error("no JSON", { cause }); } };',
    'Error: no JSON\n    at handle (index.mjs:1:97)\ncaused by SyntaxError: Unexpected end of JSON input\n',
  ],
  [
    'an error at the top level',
    'index.mjs',
    '\nnull.a;',
    "TypeError: Cannot read properties of null (reading 'a')\n    at index.mjs:2:6\n",
  ],
  ['a text', 'index.mjs', 'export const handle = () => { throw "no luck"; };', undefined],
  [
    'nothing, but answers an error',
    'index.mjs',
    'export const handle = () => ({ status: "error", error: "bad" });',
    undefined,
  ],
  [
    'an error whose stack cannot be read',
    'index.mjs',
    'export const handle = () => { throw Object.defineProperty(new Error("no luck"), "stack", { get() { throw 1; } }); };',
    undefined,
  ],
] as const;

it('is on stderr, with the frames in the files of the plugin', async () => {
  const stage = new Stage(1);
  for (const [title, entrypoint, code] of thrown) {
    stage.plugin(title, code, { entrypoint });
    stage.write(title, 'lib/read.mjs', 'export const read = from =>\n  from.a;');
  }
  for (const [title, , , stderr] of thrown) {
    const ended = await stage.run(title);
    expect([ended.verdict, ended.stderr], title).toEqual(['error', stderr]);
  }
});

it('is so long and no longer', async () => {
  const code = `export const handle = ({ payload }) => { down(payload.depth, 'x'.repeat(payload.chars)); };
    function down(depth, text) { if (depth === 0) throw new Error(text); down(depth - 1, text); }`;
  const stage = new Stage(1).plugin('p', code);
  const linesOf = async (payload: Json) => String((await stage.run('p', { payload })).stderr).split('\n');
  expect(await linesOf({ depth: 100, chars: 1 })).toHaveLength(12);
  expect((await linesOf({ depth: 0, chars: 5000 }))[0]).toHaveLength(1000);
});
