// The filters of the list of jobs.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../core/keys.ts';
import { useResource } from '../../core/resource.ts';
import { setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Chips, Field } from '../../parts/index.ts';
import { chipText, type FilterName, filterNames, type JobFilters, withoutFilters } from './filters.ts';
import { TimeFilter } from './time-filter.tsx';

type Plugins = { readonly plugins: readonly { readonly name: string }[] };
type TextFilter = { readonly name: FilterName; readonly label: string; readonly placeholder: string };

const texts: readonly TextFilter[] = [
  { name: 'plugin', label: 'Plugin', placeholder: 'any' },
  { name: 'command', label: 'Command', placeholder: 'any' },
  { name: 'pipeline', label: 'Pipeline', placeholder: 'any' },
  { name: 'tag', label: 'Tag', placeholder: 'key:text' },
];
const errorText: TextFilter = { name: 'error', label: 'Words of the error', placeholder: 'timeout "no such host"' };

export function FilterBar({ filters }: { filters: JobFilters }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const plugins = useResource<Plugins>('/plugins', { live: ['config.reloaded'] });
  useKeys({ '/': { text: 'filter', run: () => form.current?.querySelector('input')?.focus() } });
  const chips = filterNames.flatMap(name =>
    filters[name] === undefined ? [] : [{ name, value: chipText(name, filters[name]) }],
  );
  const shown = may('jobs:ro', 'jobs:rw', 'jobs:result:ro') ? [...texts, errorText] : texts;
  return (
    <search class="filters">
      <form ref={form} class="filter-fields" onSubmit={event => event.preventDefault()}>
        {shown.map(filter => (
          <FilterField key={filter.name} filter={filter} value={filters[filter.name] ?? ''} />
        ))}
        <TimeFilter filters={filters} />
      </form>
      <datalist id="plugin-names">
        {plugins.data?.plugins.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Chips
        items={chips}
        onRemove={name => setQuery({ [name]: undefined })}
        onClear={() => setQuery(withoutFilters())}
      />
    </search>
  );
}

/** A field that filters when the user has finished typing. The URL decides what it shows. */
function FilterField({ filter, value }: { filter: TextFilter; value: string }): JSX.Element {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const { name, label, placeholder } = filter;
  return (
    <Field label={label} class={`filter-${name}`}>
      {id => (
        <input
          id={id}
          type="search"
          value={typed}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          {...(name === 'plugin' && { list: 'plugin-names' })}
          onInput={event => setTyped(event.currentTarget.value)}
          onChange={event => setQuery({ [name]: event.currentTarget.value.trim() || undefined })}
          onKeyDown={event => {
            if (event.key !== 'Escape') return;
            // Browsers clear the field with Escape, which would remove the filter.
            event.preventDefault();
            event.currentTarget.value = value;
            setTyped(value);
            event.currentTarget.blur();
          }}
        />
      )}
    </Field>
  );
}
