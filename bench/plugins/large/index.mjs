// Answers with large texts, for benches that read and search them.

const words = 'the quick brown fox jumps over the lazy dog ';

export function text({ payload }) {
  return { result: { text: words.repeat(Math.ceil(payload.characters / words.length)) } };
}
