// Work that is done once for all who ask while it is under way.

/** The same act; whoever asks while one is under way gets what that one finds. */
export function shared<T>(act: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null;
  return () => {
    underWay ??= act().finally(() => {
      underWay = null;
    });
    return underWay;
  };
}
