// The state of a payload while the user edits it, in a form made of its schema or as JSON.
import { useState } from 'preact/hooks';
import { indented, type Refusal, rawMember } from '../../core/api.ts';
import {
  assemble,
  errorsByField,
  fieldsOf,
  fieldsOfText,
  type PayloadDraft,
  type PayloadSchema,
  payloadProblem,
} from './payload-fields.ts';

export type PayloadEditor = {
  readonly draft: PayloadDraft;
  /** By the name of the field; the empty name stands for the whole text. */
  readonly errors: Readonly<Record<string, string>>;
  /** Whether somebody has changed a value. */
  readonly isEdited: boolean;
  readonly onChange: (draft: PayloadDraft) => void;
  /** Absent: a form cannot be made of the schema. */
  readonly onFields?: () => void;
  readonly onText: () => void;
  /** The payload as JSON; null: something is wrong with it, which the form then shows. */
  readonly read: () => string | null;
  /** Shows the errors of a refusal beside the fields to which they belong. Returns true if nothing else of the refusal needs to be shown. */
  readonly refuse: (refusal: Refusal) => boolean;
};

/** `start`: the payload at first, as JSON. */
export function usePayload(schema: PayloadSchema | undefined, start = '{}'): PayloadEditor {
  const fields = fieldsOf(schema);
  const [draft, setDraft] = useState<PayloadDraft>(() => fieldsDraft(start) ?? { as: 'text', text: start });
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [isEdited, setEdited] = useState(false);

  function fieldsDraft(text: string): PayloadDraft | null {
    const found = fields && fieldsOfText(fields, text, indentedMember);
    return found && { as: 'fields', ...found };
  }
  const show = (next: PayloadDraft) => {
    setDraft(next);
    setErrors({});
  };
  /** Returns whether the text can be a payload; what is wrong with it is shown. */
  const isPayload = (text: string) => {
    const wrong = payloadProblem(text);
    if (wrong !== null) setErrors({ '': `Payload ${wrong}` });
    return wrong === null;
  };
  return {
    draft,
    errors,
    isEdited,
    onChange(next) {
      setEdited(true);
      show(next);
    },
    ...(fields !== null && {
      onFields() {
        if (draft.as === 'fields') return;
        if (isPayload(draft.text)) show(fieldsDraft(draft.text)!);
      },
    }),
    onText() {
      if (draft.as === 'text') return;
      const optional = draft.fields.map(field => ({ ...field, isRequired: false }));
      const made = assemble(optional, draft.values);
      if (made.ok) show({ as: 'text', text: made.text });
      else setErrors(made.errors);
    },
    read() {
      if (draft.as === 'text') return isPayload(draft.text) ? draft.text : null;
      const made = assemble(draft.fields, draft.values);
      if (!made.ok) setErrors(made.errors);
      return made.ok ? made.text : null;
    },
    refuse({ code, errors: places, detail }) {
      const found = draft.as === 'fields' ? errorsByField(places, detail) : {};
      setErrors(found);
      return code === 'invalid_payload' && Object.keys(found).length > 0;
    },
  };
}

function indentedMember(text: string, name: string): string | undefined {
  const member = rawMember(text, name);
  return member && indented(member);
}
