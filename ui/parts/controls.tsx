// Buttons, fields, tabs and chips.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

export function Button(props: {
  kind?: 'primary' | 'danger' | 'plain';
  onClick?: () => void;
  disabled?: boolean;
  type?: 'button' | 'submit';
  title?: string;
  /** For toggles: whether it is on. */
  pressed?: boolean;
  label?: string;
  class?: string;
  children: ComponentChildren;
}): JSX.Element {
  const { kind, pressed, label } = props;
  return (
    <button
      type={props.type ?? 'button'}
      class={`button ${kind ? `button-${kind}` : ''} ${props.class ?? ''}`}
      disabled={props.disabled ?? false}
      onClick={props.onClick}
      {...(props.title && { title: props.title })}
      {...(pressed !== undefined && { 'aria-pressed': pressed })}
      {...(label && { 'aria-label': label })}
    >
      {props.children}
    </button>
  );
}

/** A labelled field. `children` replaces the input, and gets the id that the label names. */
export function Field(props: {
  label: string;
  value?: string;
  onInput?: (value: string) => void;
  /** Called when the user has finished: with Enter, or by leaving the field. */
  onCommit?: (value: string) => void;
  type?: 'text' | 'search' | 'password' | 'number' | 'datetime-local';
  placeholder?: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  autoFocus?: boolean;
  name?: string;
  class?: string;
  children?: (id: string) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const { label, hint, error, children, value = '', onInput, onCommit } = props;
  // A field with `onCommit` keeps what is typed until it is committed: the page may draw the old value again meanwhile.
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const described = hint || error ? `${id}-hint` : undefined;
  return (
    <div class={`field ${props.class ?? ''}`}>
      <label for={id}>{label}</label>
      {children ? (
        children(id)
      ) : (
        <input
          id={id}
          // The attributes below are the same for all types of input, so TypeScript need not know the type.
          type={(props.type ?? 'text') as 'text'}
          value={onCommit ? typed : value}
          name={props.name ?? ''}
          placeholder={props.placeholder ?? ''}
          autocomplete="off"
          spellcheck={false}
          aria-describedby={described}
          aria-invalid={error ? true : undefined}
          autofocus={props.autoFocus ?? false}
          onInput={event => (onCommit ? setTyped : onInput)?.(event.currentTarget.value)}
          onChange={event => onCommit?.(event.currentTarget.value)}
        />
      )}
      {described && (
        <span id={described} class={error ? 'field-error' : 'field-hint'}>
          {error ?? hint}
        </span>
      )}
    </div>
  );
}

export type SelectOption = { readonly value: string; readonly text: string };

export function Select(props: {
  label: string;
  value: string;
  options: readonly SelectOption[];
  onChange: (value: string) => void;
  class?: string;
}): JSX.Element {
  return (
    <Field label={props.label} class={props.class ?? ''}>
      {id => (
        <select id={id} value={props.value} onChange={event => props.onChange(event.currentTarget.value)}>
          {props.options.map(({ value, text }) => (
            <option key={value} value={value} selected={value === props.value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Filters that are set; each can be removed. */
export function Chips(props: {
  items: readonly { readonly name: string; readonly value: string }[];
  onRemove: (name: string) => void;
  onClear?: () => void;
}): JSX.Element | null {
  if (props.items.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {props.items.map(({ name, value }) => (
        <li key={name} class="chip">
          <span class="muted">{name}</span> {value}
          <button type="button" aria-label={`Remove the filter ${name}`} onClick={() => props.onRemove(name)}>
            ×
          </button>
        </li>
      ))}
      {props.onClear && props.items.length > 1 && (
        <li>
          <Button kind="plain" onClick={props.onClear}>
            Clear all
          </Button>
        </li>
      )}
    </ul>
  );
}

export type TabItem = { readonly name: string; readonly title: ComponentChildren; readonly href: string };

/** Tabs are links: each has a URL. */
export function Tabs({
  items,
  current,
  label,
}: {
  items: readonly TabItem[];
  current: string;
  label: string;
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {items.map(({ name, title, href }) => (
        <a key={name} href={href} aria-current={name === current ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

/** A button that gets further rows. `auto`: also gets them when the button comes into view. */
export function More(props: { onMore: () => void; loading: boolean; auto?: boolean }): JSX.Element {
  const { onMore, loading, auto = false } = props;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!auto || loading) return;
    const observer = new IntersectionObserver(seen => seen.some(({ isIntersecting }) => isIntersecting) && onMore(), {
      rootMargin: '400px',
    });
    observer.observe(place.current!);
    return () => observer.disconnect();
  });
  return (
    <div class="more" ref={place}>
      <Button onClick={onMore} disabled={loading}>
        {loading ? 'Loading…' : 'Show more'}
      </Button>
    </div>
  );
}
