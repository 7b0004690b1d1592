// Fires the occurrences of a schedule between two times, after a dry run that counts them.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { Refusal, request } from '../../core/api.ts';
import { count } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { Button, Confirm, Field, fieldTime, Problem, stretchOf, TimeFields } from '../../parts/index.ts';
import type { QuestionProps } from './schedule-view.ts';

type DryBackfill = { readonly matched: number; readonly already_fired: number };
const dayMs = 86_400_000;

export function Backfill({ id, path, onDone, onClose }: QuestionProps): JSX.Element {
  const [from, setFrom] = useState(() => fieldTime(new Date(Date.now() - dayMs)));
  const [to, setTo] = useState(() => fieldTime(new Date()));
  const [reason, setReason] = useState('');
  const [counted, setCounted] = useState<DryBackfill | Refusal | 'counting' | null>(null);
  const stretch = stretchOf(from, to);
  /** Counts the changes of the two times, and the dry runs. The answer to a dry run is ignored if another change or dry run has followed it. */
  const latest = useRef(0);
  const changed = (set: (value: string) => void) => (value: string) => {
    latest.current++;
    set(value);
    setCounted(null);
  };
  const ask = async () => {
    const own = ++latest.current;
    const show = (answer: DryBackfill | Refusal) => own === latest.current && setCounted(answer);
    setCounted('counting');
    try {
      show(await request<DryBackfill>('POST', `${path}/backfill`, { ...stretch, dry_run: true }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      show(error);
    }
  };
  const run = () =>
    act(`Backfill of ${id}`, async () => {
      const body = { ...stretch, ...(reason !== '' && { reason }) };
      const { action_id, matched } = await request<{ action_id: string; matched: number }>(
        'POST',
        `${path}/backfill`,
        body,
      );
      onDone();
      const link = { text: 'Show the action', href: href('job', action_id) };
      return { text: `${count(matched)} occurrences between the two times.`, link };
    });
  const dry = counted !== null && counted !== 'counting' && !(counted instanceof Refusal) ? counted : null;
  const wanted = dry === null ? 0 : dry.matched - dry.already_fired;
  return (
    <Confirm
      title={`Backfill ${id}`}
      verb={dry === null ? 'Fire' : `Fire ${count(wanted)}`}
      disabled={dry === null || wanted === 0}
      onConfirm={run}
      onClose={onClose}
    >
      <p>
        Fires the occurrences between two times that have not fired, oldest first. Their jobs run beside each other.
      </p>
      <TimeFields from={from} to={to} onFrom={changed(setFrom)} onTo={changed(setTo)} />
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with the action." />
      <div class="backfill-count">
        <Button onClick={() => void ask()} disabled={stretch === null || counted === 'counting'}>
          Count them
        </Button>
        <span aria-live="polite">
          {stretch === null
            ? 'The first time must lie before the second.'
            : counted === 'counting'
              ? 'Counting…'
              : dry
                ? `${count(dry.matched)} occurrences, ${count(dry.already_fired)} of them have fired.`
                : 'Nothing is fired before they are counted.'}
        </span>
      </div>
      {counted instanceof Refusal && <Problem error={counted} />}
    </Confirm>
  );
}
