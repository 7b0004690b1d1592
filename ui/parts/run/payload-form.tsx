// The form of a payload: fields made of the schema, or the payload as JSON.
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { Button } from '../controls.tsx';
import type { PayloadField, PayloadValues } from './payload-fields.ts';
import type { PayloadEditor } from './use-payload.ts';

export function PayloadForm({ editor }: { editor: PayloadEditor }): JSX.Element {
  const { draft, errors, onChange, onFields, onText } = editor;
  return (
    <fieldset class="payload">
      <legend>Payload</legend>
      {onFields && (
        <fieldset class="button-group" aria-label="Edit the payload as">
          <Button pressed={draft.as === 'fields'} onClick={onFields}>
            Form
          </Button>
          <Button pressed={draft.as === 'text'} onClick={onText}>
            JSON
          </Button>
        </fieldset>
      )}
      {draft.as === 'text' ? (
        <TextPayload text={draft.text} error={errors['']} onInput={text => onChange({ as: 'text', text })} />
      ) : draft.fields.length === 0 ? (
        <p class="muted">The payload has no fields.</p>
      ) : (
        draft.fields.map(field => (
          <PayloadInput
            key={field.name}
            field={field}
            value={draft.values[field.name]}
            error={errors[field.name]}
            onInput={value => onChange({ ...draft, values: changed(draft.values, field.name, value) })}
          />
        ))
      )}
    </fieldset>
  );
}

function changed(values: PayloadValues, name: string, value: string | undefined): PayloadValues {
  const { [name]: _, ...others } = values;
  return value === undefined ? others : { ...others, [name]: value };
}

function TextPayload(props: { text: string; error: string | undefined; onInput: (text: string) => void }): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>Payload as JSON</label>
      <textarea
        id={id}
        class="payload-text"
        rows={Math.min(20, Math.max(5, props.text.split('\n').length + 1))}
        spellcheck={false}
        value={props.text}
        aria-invalid={props.error ? true : undefined}
        aria-describedby={props.error ? `${id}-hint` : undefined}
        onInput={event => props.onInput(event.currentTarget.value)}
      />
      {props.error && (
        <span id={`${id}-hint`} class="field-error">
          {props.error}
        </span>
      )}
    </div>
  );
}

type InputProps = {
  readonly field: PayloadField;
  readonly value: string | undefined;
  readonly error: string | undefined;
  readonly onInput: (value: string | undefined) => void;
};

const kindHints: Readonly<Record<PayloadField['kind'], string>> = {
  text: 'text',
  number: 'number',
  integer: 'whole number',
  truth: 'true or false',
  choice: 'one of these',
  json: 'JSON',
};

function PayloadInput({ field, value, error, onInput }: InputProps): JSX.Element {
  const id = useId();
  const { name, kind, isRequired, description } = field;
  return (
    <div class="field">
      <label for={id}>
        <span class="payload-name">{name}</span> {kindHints[kind]}
        {isRequired ? ', required' : ''}
      </label>
      <Input id={id} field={field} value={value} error={error} onInput={onInput} />
      {(error !== undefined || description !== null) && (
        <span id={`${id}-hint`} class={error === undefined ? 'field-hint' : 'field-error'}>
          {error === undefined ? description : `${name} ${error}`}
        </span>
      )}
    </div>
  );
}

function Input({ id, field, value, error, onInput }: InputProps & { id: string }): JSX.Element {
  const { kind, choices, isRequired, isLong, description } = field;
  const common = {
    id,
    'aria-invalid': error === undefined ? undefined : true,
    'aria-required': isRequired || undefined,
    'aria-describedby': error === undefined && description === null ? undefined : `${id}-hint`,
  };
  if (kind === 'choice' || kind === 'truth')
    return (
      <select {...common} value={value ?? ''} onChange={event => onInput(event.currentTarget.value || undefined)}>
        <option value="">{isRequired ? 'choose' : 'left out'}</option>
        {choices.map(choice => (
          <option key={choice} value={choice}>
            {choice.startsWith('"') ? JSON.parse(choice) : choice}
          </option>
        ))}
      </select>
    );
  if (kind === 'json' || isLong)
    return (
      <textarea
        {...common}
        class={kind === 'json' ? 'payload-text' : ''}
        rows={kind === 'json' ? Math.min(10, Math.max(2, (value ?? '').split('\n').length)) : 2}
        spellcheck={false}
        placeholder={kind === 'json' ? '[] or {}' : ''}
        value={value ?? ''}
        onInput={event => onInput(event.currentTarget.value || undefined)}
      />
    );
  return (
    <input
      {...common}
      type="text"
      inputMode={kind === 'text' ? 'text' : 'decimal'}
      autocomplete="off"
      spellcheck={false}
      value={value ?? ''}
      onInput={event => onInput(event.currentTarget.value || undefined)}
    />
  );
}
