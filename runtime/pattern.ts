// Regular expressions with linear time (RE2 syntax), for patterns that meet text from outside. The only file that knows re2js.
import { RE2JS } from 're2js';

export const patternCharsMax = 1000;
export const patternProgramMax = 5000;

/**
 * A match takes as many steps as the text has characters, times the instructions of the pattern, at most; 10⁶ steps take 30 to 50 ms
 * at the worst. Of all patterns in a condition, which hold up the ledger meanwhile, and of all texts in a value that a schema checks.
 */
export const matchStepsMax = 5e5;
export const checkStepsMax = 1e8;

/** A compiled pattern. */
export type Pattern = {
  /** The steps that a match with the text takes, at most. */
  steps(text: string): number;
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean;
};

/** Throws an Error that says what is wrong with the pattern. */
export function compilePattern(source: string): Pattern {
  if (source.length > patternCharsMax) throw new Error(`longer than ${patternCharsMax} characters`);
  const compiled = RE2JS.compile(source);
  if (compiled.programSize() > patternProgramMax) throw new Error('too large once its repetitions are written out');
  const size = compiled.programSize();
  return { steps: text => text.length * size, test: text => compiled.test(text) };
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

/** The texts of a value are too long, together, for the patterns that check them. */
export class TooManySteps extends Error {}

let stepsLeft = 0;

/** Gives what follows, which is one check of one value, its steps. */
export function allowSteps(): void {
  stepsLeft = checkStepsMax;
}

/** The engine for `pattern` in JSON Schemas: JavaScript's syntax where it can be had in linear time. Throws TooManySteps. */
export const schemaPatterns = Object.assign(
  (source: string, flags: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    const size = compiled.programSize();
    const test = (text: string) => {
      stepsLeft -= text.length * size;
      if (stepsLeft < 0) throw new TooManySteps('has more text than its patterns can be matched with');
      return compiled.test(text);
    };
    // Schema compilers keep patterns by their text: the prefix keeps these apart from those of another engine.
    return { test, toString: () => `re2:${flags}:${source}` };
  },
  { code: 're2' },
);
