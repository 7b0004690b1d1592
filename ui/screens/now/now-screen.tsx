// The screen Now: what goes on.
import type { JSX } from 'preact';
import { useResource } from '../../core/resource.ts';
import { Loading, Page, Problem, Stat } from '../../parts/index.ts';

type Overview = { counts: Record<string, number> };

export function NowScreen(): JSX.Element {
  const overview = useResource<Overview>('/overview', { live: ['job.*'] });
  return (
    <Page title="Now">
      {overview.error && <Problem error={overview.error} retry={overview.reload} />}
      {overview.data === undefined ? (
        <Loading />
      ) : (
        Object.entries(overview.data.counts).map(([name, value]) => <Stat key={name} label={name} value={value} />)
      )}
    </Page>
  );
}
