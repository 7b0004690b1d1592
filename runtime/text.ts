/** The beginning of the text, at most `charsMax` UTF-16 code units. A character that needs two code units is not split. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return text.slice(0, (text.charCodeAt(charsMax - 1) & 0xfc00) === 0xd800 ? charsMax - 1 : charsMax);
}

/** A number with its noun, such as `1 job` or `3 jobs`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
