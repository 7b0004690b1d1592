// What waits for an actor: handed over whole, an empty one taken back.

export class Mailbox {
  #waiting: unknown[] = [];

  get empty(): boolean {
    return this.#waiting.length === 0;
  }

  push(message: unknown): void {
    this.#waiting.push(message);
  }

  take(): readonly unknown[] {
    const taken = this.#waiting;
    if (taken.length > 0) this.#waiting = [];
    return taken;
  }

  /** What was taken and not handled is first again. */
  putBack(messages: readonly unknown[]): void {
    this.#waiting = this.empty ? [...messages] : [...messages, ...this.#waiting];
  }
}
