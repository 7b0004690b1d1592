// Draws plots as SVG: panels in two columns over the same x axis, each with a linear y axis that begins at 0.

export type PlotPoint = { readonly x: number; readonly y: number };
export type Panel = {
  readonly title: string;
  readonly points: readonly PlotPoint[];
};
/** `linear`: equal differences of x have equal widths. `logarithmic`: equal ratios of x have equal widths. */
export type Scale = 'linear' | 'logarithmic';
export type Plot = {
  readonly title: string;
  readonly scale: Scale;
  /** The label of the x axis. */
  readonly axis: string;
  readonly panels: readonly Panel[];
};

const [panelWidth, panelHeight] = [320, 220];
const columns = 2;
/** The maximum number of labels on an x axis. */
const labelsMax = 10;
const titleHeight = 40;
const pad = { left: 56, right: 16, top: 28, bottom: 40 };
const style = 'font-family: sans-serif; font-size: 11px; background: white';
const [ink, grid, line] = ['#333', '#ddd', '#1769aa'];

/** Returns the plot as SVG. */
export function drawPlot({ title, scale, axis, panels }: Plot): string {
  const rows = Math.ceil(panels.length / columns);
  const [width, height] = [panelWidth * Math.min(columns, panels.length), titleHeight + rows * panelHeight];
  const drawn = panels.map((panel, n) => {
    const [left, top] = [(n % columns) * panelWidth, titleHeight + Math.floor(n / columns) * panelHeight];
    return `<g transform="translate(${left} ${top})">${drawPanel(panel, scale, axis)}</g>`;
  });
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" style="${style}">`;
  const heading = text(pad.left, 22, title, 'start', 'font-size="14"');
  return [head, `<title>${escaped(title)}</title>`, heading, ...drawn, '</svg>', ''].join('\n');
}

function drawPanel({ title, points }: Panel, scale: Scale, axis: string): string {
  const top = ceiling(Math.max(...points.map(({ y }) => y)));
  const scaled = scale === 'linear' ? (x: number) => x : Math.log10;
  const positions = points.map(({ x }) => scaled(x));
  const [first, last] = [Math.min(...positions), Math.max(...positions)];
  const [right, bottom] = [panelWidth - pad.right, panelHeight - pad.bottom];
  const place = ({ x, y }: PlotPoint) => {
    const share = last === first ? 0.5 : (scaled(x) - first) / (last - first);
    return { left: pad.left + share * (right - pad.left), top: bottom - (y / top) * (bottom - pad.top) };
  };
  const rulers = [0, 0.25, 0.5, 0.75, 1].flatMap(share => {
    const at = bottom - share * (bottom - pad.top);
    return [
      `<path d="M${pad.left} ${round(at)}H${right}" stroke="${grid}"/>`,
      text(pad.left - 6, at + 4, short(share * top), 'end'),
    ];
  });
  const places = points.map(point => ({ ...point, ...place(point) }));
  const path = places.map(({ left, top }) => `${round(left)} ${round(top)}`).join('L');
  const labelEvery = Math.ceil(points.length / labelsMax);
  const marks = places.flatMap(({ x, y, left, top }, n) => [
    `<circle cx="${round(left)}" cy="${round(top)}" r="3" fill="${line}"><title>${x}: ${short(y)}</title></circle>`,
    ...((n + 1) % labelEvery === 0 ? [text(left, bottom + 15, short(x), 'middle')] : []),
  ]);
  const labels = [text(pad.left, 16, title, 'start'), text((pad.left + right) / 2, bottom + 31, axis, 'middle')];
  return [...rulers, `<path d="M${path}" fill="none" stroke="${line}"/>`, ...marks, ...labels].join('\n');
}

/** The smallest number that is not less than the value and is 1, 2, 2.5 or 5 times a power of ten. */
function ceiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 2.5, 5].find(step => value <= step * power) ?? 10);
}

function text(x: number, y: number, content: string, anchor: string, more = ''): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${ink}" ${more}>${escaped(content)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** Formats a number with at most three significant digits, such as `1.5k` for 1500. */
export function short(value: number): string {
  const [unit, name] = value >= 1e6 ? [1e6, 'M'] : value >= 1e3 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / unit).toPrecision(3))}${name}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
