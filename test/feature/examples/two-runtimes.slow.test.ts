// The example of two runtimes: each plugin by itself, the executables over stdin and stdout, and all of them in a pipeline.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../runtime/host/api/plugin-api.ts';
import { type HandleModule, importPlugin, makeRequest, runPlugin } from './fixture.ts';

const splitter = await importPlugin<HandleModule>('two-runtimes/splitter/index.mjs');
const hasPython = spawnSync('python3', ['--version']).status === 0;
const whyNot = hasPython ? '' : ' (skipped: python3 is not installed)';

const count = (payload: Json, config = {}) =>
  runPlugin('two-runtimes/counter/count.py', `${JSON.stringify(makeRequest(payload, { config }))}\n`);
const digest = (payload: Json) =>
  runPlugin('two-runtimes/digest/digest.sh', `${JSON.stringify(makeRequest(payload))}\n`);
const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

describe('splitter', () => {
  it('splits where lines are empty or blank', () => {
    const text = '\n\none\nstill one\n\n\n two \r\n \t\r\nthree\n';
    expect(splitter.handle(makeRequest({ text }))).toEqual({
      result: { paragraphs: ['one\nstill one', 'two', 'three'] },
    });
    expect(splitter.handle(makeRequest({ text: '' }))).toEqual({ result: { paragraphs: [] } });
  });

  it('refuses more paragraphs than its config allows, for good', () => {
    const request = makeRequest({ text: 'a\n\nb' }, { config: { paragraphs_max: 1 } });
    const error = 'the text has 2 paragraphs; config.paragraphs_max allows 1';
    expect(splitter.handle(request)).toEqual({ status: 'error', error, retry: false });
  });
});

describe.skipIf(!hasPython)(`counter${whyNot}`, () => {
  it('counts words in any script, the most frequent first', () => {
    expect(count({ item: 'Über the top: the TOP isn’t it?', index: 3 }, { top: 2 })).toEqual({
      status: 'ok',
      result: {
        index: 3,
        words: 7,
        different: 5,
        top: [
          { word: 'the', count: 2 },
          { word: 'top', count: 2 },
        ],
      },
    });
    expect(count({ item: '… — !', index: 0 })).toEqual({
      status: 'ok',
      result: { index: 0, words: 0, different: 0, top: [] },
    });
  });

  it('fails for good when the request cannot be counted', () => {
    const error = "not a request that can be counted: KeyError('item')";
    expect(count({ index: 0 })).toEqual({ status: 'error', error, retry: false });
    expect(runPlugin('two-runtimes/counter/count.py', '')).toMatchObject({ status: 'error', retry: false });
  });
});

describe('digest', () => {
  it('is the SHA-256 of the list as it came, with the sum of its words', () => {
    const results = [
      { words: 3, top: [{ word: 'a"],{"results":[', words: 100 }] },
      { words: 40, note: '"words":9 \\' },
      'a text, with a comma',
      null,
    ];
    expect(digest({ results, succeeded: 3, failed: 1 })).toEqual({
      status: 'ok',
      result: { digest: sha256(JSON.stringify(results)), paragraphs: 4, words: 43 },
    });
    expect(digest({ results: [] })).toEqual({
      status: 'ok',
      result: { digest: sha256('[]'), paragraphs: 0, words: 0 },
    });
  });

  it('takes JSON with spaces and without a newline at its end', () => {
    const line = '{ "event" : { "payload": { "results" : [ 1, { "words" : 3 } ] } } }';
    expect(runPlugin('two-runtimes/digest/digest.sh', line)).toEqual({
      status: 'ok',
      result: { digest: sha256('[ 1, { "words" : 3 } ]'), paragraphs: 2, words: 3 },
    });
  });

  it('fails for good when there is no list of results', () => {
    const error = 'stdin has no request with a list of results';
    expect(digest({ note: '"results":[1]' })).toEqual({ status: 'error', error, retry: false });
    expect(runPlugin('two-runtimes/digest/digest.sh', '')).toEqual({ status: 'error', error, retry: false });
  });
});

describe.skipIf(!hasPython)(`the three in a row${whyNot}`, () => {
  it('digest a text', () => {
    const text = 'To be or not to be.\n\nThat is the question.';
    const split = splitter.handle(makeRequest({ text })) as { result: { paragraphs: string[] } };
    const results = split.result.paragraphs.map((item, index) => (count({ item, index }) as { result: Json }).result);
    expect(digest({ results, succeeded: 2, failed: 0 })).toEqual({
      status: 'ok',
      result: { digest: sha256(JSON.stringify(results)), paragraphs: 2, words: 10 },
    });
  });
});
