// The width of an element, as it changes.
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** The element to watch, and its width in whole pixels; 0 before it is laid out. */
export function useWidth<E extends HTMLElement>(): { readonly element: RefObject<E | null>; readonly width: number } {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return { element, width };
}
