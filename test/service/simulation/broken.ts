// The error of a world in which the product did something wrong.

export class Broken extends Error {
  /** The first error of this world. It is kept, because the product catches errors that are thrown within a turn. */
  static first: Broken | null = null;

  constructor(message: string) {
    super(message);
    Broken.first ??= this;
  }
}

export function holds(condition: boolean, what: () => string): void {
  if (!condition) throw new Broken(what());
}
