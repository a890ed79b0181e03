/** Values of a metric's labels, in the order of its `labels`. */
type LabelValues = readonly (string | number)[]

/** Name and meaning of one metric; `labels` name its dimensions. */
interface MetricOptions {
  /** `walletscope_…`, with its unit last: `_total`, `_seconds`, `_bytes`. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

/** What the values of several processes that serve as one are together. */
export type Aggregation = 'sum' | 'most' | 'least'

interface GaugeOptions extends MetricOptions {
  /** @default sum */
  readonly together?: Aggregation
}

/** Values with labels, read when the metrics are. */
interface LabelledOptions extends GaugeOptions {
  readonly labels: readonly string[]
  readonly read: () => readonly (readonly [labels: LabelValues, value: number])[]
}

/** One metric as it stands, which can be sent to another process. */
export interface MetricSample {
  readonly name: string
  /** Its lines before the series. */
  readonly head: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly together: Aggregation
  /** Name and labels of each series as they are shown, and its value. */
  readonly series: readonly (readonly [name: string, value: number])[]
}

/** Counters, gauges and histograms of one process, shown in the text format of Prometheus (version 0.0.4). */
export type Metrics = ReturnType<typeof createMetrics>

/** Series of one metric; further label values are counted together under `other`, so that memory stays bounded. */
const SERIES_MAX = 1_000

/** Makes an empty set of metrics. Throws if a name is used twice. */
export function createMetrics() {
  const families = new Map<string, () => MetricSample>()

  function register(options: GaugeOptions, type: MetricSample['type'], read: () => MetricSample['series']): void {
    const { name, together = 'sum' } = options
    if (families.has(name)) throw new Error(`Cannot register metric "${name}": it exists`)
    const help = options.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}`
    families.set(name, () => ({ name, head, type, together, series: read() }))
  }

  function labelled(options: LabelledOptions, type: 'counter' | 'gauge'): void {
    register(options, type, () =>
      options.read().map(([labels, value]) => [`${options.name}${labelText(options.labels, labels)}`, value] as const),
    )
  }

  const figures = () => [...families.values()].map((read) => read())

  return {
    /** A family of counters; the returned function finds or makes the series of these label values. */
    counter(options: MetricOptions) {
      const series = createSeries(options.labels ?? [], () => new Counter())
      register(options, 'counter', () => series.map((cell, labels) => [[`${options.name}${labels}`, cell.value]]))
      return series.at
    },
    /** A family of histograms with cumulative buckets at `buckets`, ascending. */
    histogram(options: MetricOptions & { readonly buckets: readonly number[] }) {
      const series = createSeries(options.labels ?? [], () => new Histogram(options.buckets))
      register(options, 'histogram', () => series.map((cell, labels) => cell.series(options.name, labels)))
      return series.at
    },
    /** A number that only grows, read by `render`. */
    total(options: MetricOptions & { readonly read: () => number }): void {
      register(options, 'counter', () => [[options.name, options.read()]])
    },
    /** A value that is read by `render`. */
    gauge(options: GaugeOptions & { readonly read: () => number }): void {
      register(options, 'gauge', () => [[options.name, options.read()]])
    },
    /** The same of several numbers with labels. */
    totals: (options: LabelledOptions) => labelled(options, 'counter'),
    gauges: (options: LabelledOptions) => labelled(options, 'gauge'),
    figures,
    /** The same as text. */
    render: () => renderMetrics(figures()),
  }
}

/** Figures in the text format of Prometheus. */
export function renderMetrics(figures: readonly MetricSample[]): string {
  const parts: string[] = []
  for (const { head, series } of figures) parts.push(head, ...series.map(([name, value]) => `${name} ${value}`))
  return `${parts.join('\n')}\n`
}

/** The figures of several processes as those of one: counters and histograms are summed, gauges as each one says. */
export function mergeMetrics(processes: readonly (readonly MetricSample[])[]): readonly MetricSample[] {
  const merged = new Map<string, { readonly figure: MetricSample; readonly values: Map<string, number> }>()
  for (const figure of processes.flat()) {
    const { values } = merged.get(figure.name) ?? { values: new Map<string, number>() }
    if (values.size === 0) merged.set(figure.name, { figure, values })
    for (const [series, value] of figure.series) {
      const known = values.get(series)
      values.set(series, known === undefined ? value : TOGETHER[figure.together](known, value))
    }
  }
  return [...merged.values()].map(({ figure, values }) => ({ ...figure, series: [...values] }))
}

const TOGETHER: Readonly<Record<Aggregation, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  most: Math.max,
  least: Math.min,
}

/** Bounds for the duration of answers and outside calls, seconds. */
export const LATENCY_BUCKETS_SEC: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** One series of a counter, which only grows. */
export class Counter {
  value = 0

  add(amount: number): void {
    this.value += amount
  }
}

/** One series of a histogram. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#sum += value
    this.#count += 1
    for (let index = 0; index < this.#bounds.length; index += 1) {
      if (value > (this.#bounds[index] ?? 0)) continue
      this.#counts[index] = (this.#counts[index] ?? 0) + 1
      return
    }
  }

  series(name: string, labels: string): MetricSample['series'] {
    let below = 0
    const bucket = (bound: string) => `${name}_bucket${withLabel(labels, `le="${bound}"`)}`
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0
      return [bucket(String(bound)), below] as const
    })
    return [
      ...buckets,
      [bucket('+Inf'), this.#count],
      [`${name}_sum${labels}`, this.#sum],
      [`${name}_count${labels}`, this.#count],
    ]
  }
}

function createSeries<Made>(names: readonly string[], make: () => Made) {
  const cells = new Map<string, { readonly labels: string; readonly cell: Made }>()

  function at(...values: LabelValues): Made {
    const key = values.join('\u0000')
    const known = cells.get(key)
    if (known !== undefined) return known.cell
    if (cells.size >= SERIES_MAX && values.some((value) => value !== 'other')) return at(...names.map(() => 'other'))
    const cell = make()
    cells.set(key, { labels: labelText(names, values), cell })
    return cell
  }

  return {
    at,
    map: (series: (cell: Made, labels: string) => MetricSample['series']) =>
      [...cells.values()].flatMap(({ cell, labels }) => series(cell, labels)),
  }
}

function labelText(names: readonly string[], values: LabelValues): string {
  if (names.length === 0) return ''
  return `{${names.map((name, index) => `${name}="${escaped(String(values[index] ?? ''))}"`).join(',')}}`
}

function withLabel(labels: string, label: string): string {
  return labels === '' ? `{${label}}` : `${labels.slice(0, -1)},${label}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
