// What a world says when the product did what it must not do.

export class Broken extends Error {
  /** The first of this world. The product survives what is thrown within a turn: nobody may overlook it. */
  static first: Broken | null = null;

  constructor(message: string) {
    super(message);
    Broken.first ??= this;
  }
}

export function holds(condition: boolean, what: () => string): void {
  if (!condition) throw new Broken(what());
}
