// The numbers of an action over many jobs, as somebody types them.
import { expect, it } from 'vitest';
import { actionLimitMax, perSecondMax as perSecondOfApi } from '../../../http/routes/actions.ts';
import { limitMax, perSecondMax, typedNumber } from '../../../ui/parts/pace.ts';

it.each([
  ['', null],
  [' 12 ', 12],
  ['1', 1],
  ['1000000000', 1_000_000_000],
])('%j is %j', (text, value) => {
  expect(typedNumber(text, limitMax)).toEqual({ value });
});

it.each(['0', '-1', '1.5', '1e3', 'ten', '100001', '9'.repeat(400)])('%j is refused', text => {
  expect(typedNumber(text, perSecondMax)).toEqual({ value: null, error: 'must be a whole number from 1 to 100000' });
});

it('may be as large as the API takes them', () => {
  expect([limitMax, perSecondMax]).toEqual([actionLimitMax, perSecondOfApi]);
});
