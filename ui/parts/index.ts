// The parts that screens are made of.
export { Button, Chips, Field, More, Select, type SelectOption, type TabItem, Tabs } from './controls.tsx';
export { Confirm, Dialog } from './dialog.tsx';
export { Bar, type BarPart, Spark, Stat } from './figures.tsx';
export { confirmMany, type ManyDeed, ManyDialog, type ManyRequest } from './many-dialog.tsx';
export { Empty, Loading, Page, Problem, Section } from './page.tsx';
export { RowList } from './row-list.tsx';
export { type Column, Table } from './table.tsx';
export { fieldTime, type Stretch, stretchOf, TimeFields } from './times.tsx';
export {
  Announce,
  Code,
  Copy,
  codeCharactersMax,
  Duration,
  JobId,
  Status,
  SymbolHead,
  statusText,
  Time,
} from './values.tsx';
