/** Values of a metric's labels, in the order of its `labels`. */
type LabelValues = readonly (string | number)[]

/** Name and help text of one metric; `labels` name its dimensions. */
interface MetricOptions {
  /** `walletscope_…`, with its unit last: `_total`, `_seconds`, `_bytes`. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

/** How the values of several worker processes are merged into one. */
type Aggregation = 'sum' | 'most' | 'least'

interface GaugeOptions extends MetricOptions {
  /** @default sum */
  readonly aggregation?: Aggregation
}

/** Values with labels, read whenever the metrics are read. */
interface LabelledOptions extends GaugeOptions {
  readonly labels: readonly string[]
  readonly read: () => readonly (readonly [labels: LabelValues, value: number])[]
}

/** The current state of one metric; it can be sent to another process. */
export interface MetricSample {
  readonly name: string
  /** The HELP and TYPE lines. */
  readonly head: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly aggregation: Aggregation
  /** Rendered name and labels of each series, and its value. */
  readonly series: readonly (readonly [name: string, value: number])[]
}

/** Counters, gauges and histograms of one process, rendered in the text format of Prometheus (version 0.0.4). */
export type Metrics = ReturnType<typeof createMetrics>

/** Most series of one metric. Additional label values are counted under `other`, so that memory stays bounded. */
const SERIES_MAX = 1_000

/** Creates an empty set of metrics. Registering a name twice throws. */
export function createMetrics() {
  const families = new Map<string, () => MetricSample>()

  function register(options: GaugeOptions, type: MetricSample['type'], read: () => MetricSample['series']): void {
    const { name, aggregation = 'sum' } = options
    if (families.has(name)) throw new Error(`Cannot register metric "${name}": it exists`)
    const help = options.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}`
    families.set(name, () => ({ name, head, type, aggregation, series: read() }))
  }

  function registerLabelled(options: LabelledOptions, type: 'counter' | 'gauge'): void {
    register(options, type, () =>
      options
        .read()
        .map(([labels, value]) => [`${options.name}${formatLabels(options.labels, labels)}`, value] as const),
    )
  }

  const readSamples = () => [...families.values()].map((read) => read())

  return {
    /** Registers a family of counters; the returned function finds or creates the series of these label values. */
    counter(options: MetricOptions) {
      const series = createSeries(options.labels ?? [], () => new Counter())
      register(options, 'counter', () => series.map((cell, labels) => [[`${options.name}${labels}`, cell.value]]))
      return series.getOrCreate
    },
    /** Registers a family of histograms with cumulative buckets at `buckets`, ascending. */
    histogram(options: MetricOptions & { readonly buckets: readonly number[] }) {
      const series = createSeries(options.labels ?? [], () => new Histogram(options.buckets))
      register(options, 'histogram', () => series.map((cell, labels) => cell.series(options.name, labels)))
      return series.getOrCreate
    },
    /** Registers a number that only grows, read by `render`. */
    total(options: MetricOptions & { readonly read: () => number }): void {
      register(options, 'counter', () => [[options.name, options.read()]])
    },
    /** Registers a value that is read by `render`. */
    gauge(options: GaugeOptions & { readonly read: () => number }): void {
      register(options, 'gauge', () => [[options.name, options.read()]])
    },
    /** Registers several growing numbers with labels. */
    totals: (options: LabelledOptions) => registerLabelled(options, 'counter'),
    gauges: (options: LabelledOptions) => registerLabelled(options, 'gauge'),
    readSamples,
    /** Renders all metrics as text. */
    render: () => renderMetrics(mergeMetrics([readSamples()])),
  }
}

/** Renders samples in the text format of Prometheus. */
export function renderMetrics(samples: readonly MetricSample[]): string {
  const parts: string[] = []
  for (const { head, series } of samples) parts.push(head, ...series.map(([name, value]) => `${name} ${value}`))
  return `${parts.join('\n')}\n`
}

/** Merges the samples of processes: sums counters and histograms, and merges gauges by their `aggregation`. */
export function mergeMetrics(processes: readonly (readonly MetricSample[])[]): readonly MetricSample[] {
  const merged = new Map<string, { readonly sample: MetricSample; readonly values: Map<string, number> }>()
  for (const sample of processes.flat()) {
    const { values } = merged.get(sample.name) ?? { values: new Map<string, number>() }
    if (values.size === 0) merged.set(sample.name, { sample, values })
    for (const [series, value] of sample.series) {
      const previous = values.get(series)
      values.set(series, previous === undefined ? value : AGGREGATE[sample.aggregation](previous, value))
    }
  }
  return [...merged.values()].map(({ sample, values }) => ({ ...sample, series: [...values] }))
}

const AGGREGATE: Readonly<Record<Aggregation, (one: number, other: number) => number>> = {
  sum: (one, other) => one + other,
  most: Math.max,
  least: Math.min,
}

/** Histogram bounds for the duration of answers and outgoing calls, seconds. */
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
    const bucket = (bound: string) => `${name}_bucket${addLabel(labels, `le="${bound}"`)}`
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

function createSeries<Series>(names: readonly string[], make: () => Series) {
  const cells = new Map<string, { readonly labels: string; readonly series: Series }>()

  function getOrCreate(...values: LabelValues): Series {
    const key = values.join('\u0000')
    const existing = cells.get(key)
    if (existing !== undefined) return existing.series
    if (cells.size >= SERIES_MAX && values.some((value) => value !== 'other'))
      return getOrCreate(...names.map(() => 'other'))
    const cell = make()
    cells.set(key, { labels: formatLabels(names, values), series: cell })
    return cell
  }

  return {
    getOrCreate,
    map: (series: (cell: Series, labels: string) => MetricSample['series']) =>
      [...cells.values()].flatMap(({ series: cell, labels }) => series(cell, labels)),
  }
}

function formatLabels(names: readonly string[], values: LabelValues): string {
  if (names.length === 0) return ''
  return `{${names.map((name, index) => `${name}="${escapeLabel(String(values[index] ?? ''))}"`).join(',')}}`
}

function addLabel(labels: string, label: string): string {
  return labels === '' ? `{${label}}` : `${labels.slice(0, -1)},${label}}`
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
