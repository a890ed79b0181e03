/** One series of a counter, which only grows. */
export interface Cell {
  add(amount: number): void
}

/** One series of a histogram. */
export interface HistogramCell {
  observe(value: number): void
}

/** Values of a metric's labels, in the order of its `labels`. */
type LabelValues = readonly (string | number)[]

/** Name and meaning of one metric; `labels` name its dimensions. */
interface MetricOptions {
  /** `walletscope_…`, with its unit last: `_total`, `_seconds`, `_bytes`. */
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

/** Values with labels, read when the metrics are. */
interface LabelledOptions extends MetricOptions {
  readonly labels: readonly string[]
  readonly read: () => readonly (readonly [labels: LabelValues, value: number])[]
}

/** Counters, gauges and histograms of one process, shown in the text format of Prometheus (version 0.0.4). */
export interface Metrics {
  /** A family of counters; the returned function finds or makes the series of these label values. */
  counter(options: MetricOptions): (...labels: LabelValues) => Cell
  /** A family of histograms with cumulative buckets at `buckets`, ascending. */
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): (...labels: LabelValues) => HistogramCell
  /** A number that only grows, read by `render`. */
  total(options: MetricOptions & { readonly read: () => number }): void
  /** Numbers with labels that only grow, read by `render`. */
  totals(options: LabelledOptions): void
  /** A value that is read by `render`. */
  gauge(options: MetricOptions & { readonly read: () => number }): void
  /** Values with labels that are read by `render`. */
  gauges(options: LabelledOptions): void
  /** All metrics as text. */
  render(): string
}

/** Series of one metric; further label values are counted together under `other`, so that memory stays bounded. */
const SERIES_MAX = 1_000

/** Makes an empty set of metrics. Throws if a name is used twice. */
export function createMetrics(): Metrics {
  const families = new Map<string, { readonly head: string; readonly lines: () => string[] }>()

  function register(options: MetricOptions, type: string, lines: () => string[]): void {
    if (families.has(options.name)) throw new Error(`Cannot register metric "${options.name}": it exists`)
    const help = options.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
    families.set(options.name, { head: `# HELP ${options.name} ${help}\n# TYPE ${options.name} ${type}`, lines })
  }

  function labelled(options: LabelledOptions, type: 'counter' | 'gauge'): void {
    register(options, type, () =>
      options.read().map(([labels, value]) => `${options.name}${labelText(options.labels, labels)} ${value}`),
    )
  }

  return {
    counter(options) {
      const series = createSeries(options.labels ?? [], () => new Counter())
      register(options, 'counter', () => series.map((cell, labels) => [`${options.name}${labels} ${cell.value}`]))
      return series.at
    },
    histogram(options) {
      const series = createSeries(options.labels ?? [], () => new Histogram(options.buckets))
      register(options, 'histogram', () => series.map((cell, labels) => cell.lines(options.name, labels)))
      return series.at
    },
    total(options) {
      register(options, 'counter', () => [`${options.name} ${options.read()}`])
    },
    gauge(options) {
      register(options, 'gauge', () => [`${options.name} ${options.read()}`])
    },
    totals: (options) => labelled(options, 'counter'),
    gauges: (options) => labelled(options, 'gauge'),
    render() {
      const parts: string[] = []
      for (const { head, lines } of families.values()) parts.push(head, ...lines())
      return `${parts.join('\n')}\n`
    },
  }
}

/** Bounds for the duration of answers and outside calls, seconds. */
export const LATENCY_BUCKETS_SEC: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

class Counter implements Cell {
  value = 0

  add(amount: number): void {
    this.value += amount
  }
}

class Histogram implements HistogramCell {
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

  lines(name: string, labels: string): string[] {
    let below = 0
    const bucket = (bound: string) => `${name}_bucket${withLabel(labels, `le="${bound}"`)}`
    const buckets = this.#bounds.map((bound, index) => {
      below += this.#counts[index] ?? 0
      return `${bucket(String(bound))} ${below}`
    })
    return [
      ...buckets,
      `${bucket('+Inf')} ${this.#count}`,
      `${name}_sum${labels} ${this.#sum}`,
      `${name}_count${labels} ${this.#count}`,
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
    map: (lines: (cell: Made, labels: string) => string[]) =>
      [...cells.values()].flatMap(({ cell, labels }) => lines(cell, labels)),
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
