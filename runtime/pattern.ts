// Regular expressions with linear time (RE2 syntax), for patterns on text from outside. The only file that imports re2js.
import { RE2JS } from 're2js';

export const patternCharsMax = 1000;
export const patternProgramMax = 5000;

/**
 * Limits the steps of a match, which takes at most the number of characters times the instructions of the pattern; 10⁶ steps take up to
 * 50 ms. The limit holds for all patterns of a condition together, which block the ledger meanwhile, and for all texts of a value that
 * a schema checks.
 */
export const matchStepsMax = 5e5;
export const checkStepsMax = 1e8;

/** A compiled pattern. */
export type Pattern = {
  /** The maximum number of steps of a match with this text. */
  steps(text: string): number;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
};

/** Throws an Error that says what is wrong with the pattern. */
export function compilePattern(source: string): Pattern {
  if (source.length > patternCharsMax) throw new Error(`longer than ${patternCharsMax} characters`);
  const compiled = RE2JS.compile(source);
  if (compiled.programSize() > patternProgramMax) throw new Error('too large when its repetitions are expanded');
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

/** The texts of a value are, in total, too long for the patterns that check them. */
export class TooManySteps extends Error {}

let stepsLeft = 0;

/** Resets the steps for the next check of a value. */
export function allowSteps(): void {
  stepsLeft = checkStepsMax;
}

/** The engine for `pattern` in JSON Schemas: JavaScript's syntax, as far as it can be matched in linear time. Throws TooManySteps. */
export const schemaPatterns = Object.assign(
  (source: string, flags: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    const size = compiled.programSize();
    const test = (text: string) => {
      stepsLeft -= text.length * size;
      if (stepsLeft < 0) throw new TooManySteps('has too much text to match against its patterns');
      return compiled.test(text);
    };
    // Schema compilers cache patterns by text. The prefix distinguishes these from the patterns of another engine.
    return { test, toString: () => `re2:${flags}:${source}` };
  },
  { code: 're2' },
);
