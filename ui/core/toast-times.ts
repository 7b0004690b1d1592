// How long toasts are shown. A file of its own, because tests read it without a browser.

export const toastMs = 6_000;
/** Of a call that was refused: there is more to read. */
export const refusedToastMs = 15_000;
