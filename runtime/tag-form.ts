// The form of a tag: a key with a text, which a caller or a schedule gives.

export const tagsMax = 8;
/** The maximum number of characters of a tag's text. */
export const tagCharactersMax = 128;
export const tagKeyPattern = '^[a-z0-9_]{1,32}$';
