// Copies texts. Browsers offer the clipboard API only to pages over HTTPS or from localhost. On other pages, a selection is copied.

/** Returns whether the text is on the clipboard. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // The browser refuses: the selection below may still work.
  }
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'offscreen';
  // A text area outside an open dialog would be inert.
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  area.select();
  try {
    return document.execCommand('copy');
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  }
}
