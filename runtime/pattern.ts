// Regular expressions with linear time (RE2 syntax), for patterns that meet text from outside. The only file that knows re2js.
import { RE2JS } from 're2js';

export const patternCharsMax = 1000;
export const patternProgramMax = 5000;

/** A compiled pattern: whether it matches anywhere in the text. */
export type Pattern = (text: string) => boolean;

/** Throws an Error that says what is wrong with the pattern. */
export function compilePattern(source: string): Pattern {
  if (source.length > patternCharsMax) throw new Error(`longer than ${patternCharsMax} characters`);
  const compiled = RE2JS.compile(source);
  if (compiled.programSize() > patternProgramMax) throw new Error('too large once its repetitions are written out');
  return text => compiled.test(text);
}

/** What is wrong with a pattern, or undefined. */
export function patternProblem(source: string): string | undefined {
  try {
    compilePattern(source);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace('error parsing regexp: ', '').replaceAll('`', '"');
  }
}

/** The engine for `pattern` in JSON Schemas: JavaScript's syntax where it can be had in linear time. */
export const schemaPatterns = Object.assign(
  (source: string, flags: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    // Schema compilers keep patterns by their text: the prefix keeps these apart from those of another engine.
    return { test: (text: string) => compiled.test(text), toString: () => `re2:${flags}:${source}` };
  },
  { code: 're2' },
);
