// The limits of tags. A tag is a key with a text; a caller or a schedule gives tags to jobs.

export const tagsMax = 8;
/** The maximum number of characters of a tag's text. */
export const tagCharactersMax = 128;
export const tagKeyPattern = '^[a-z0-9_]{1,32}$';
