interface Panel {
  readonly title: string
  readonly description: string
  readonly unit: string
  /** Queries, each with its legend. */
  readonly lines: readonly (readonly [expr: string, legend: string])[]
}

const DURATION = 'walletscope_http_request_duration_seconds_bucket'
const API = 'route=~".+ (/mcp)?/v1/.+"'

/** A panel for each guarantee of README, then panels for their causes. */
const PANELS: readonly Panel[] = [
  {
    title: 'Exact figures: logs missing from one read and returned by another',
    description: 'Histories are stored only after a second read; these gaps were filled.',
    unit: 'short',
    lines: [
      ['sum by (chain_id) (increase(walletscope_history_logs_healed_total[$__rate_interval]))', 'chain {{chain_id}}'],
    ],
  },
  {
    title: 'One round trip: endpoint requests per answered request',
    description: 'Background work counts too.',
    unit: 'short',
    lines: [
      [
        `sum(rate(walletscope_rpc_requests_total[$__rate_interval])) / sum(rate(walletscope_http_requests_total{${API},status="200"}[$__rate_interval]))`,
        'requests',
      ],
    ],
  },
  {
    title: 'Metering: credits charged a second',
    description: 'Charge and log row are one statement.',
    unit: 'short',
    lines: [['sum by (route) (rate(walletscope_credits_charged_total[$__rate_interval]))', '{{route}}']],
  },
  {
    title: 'Metering: waiting unknown outcomes, and whether the journal is durable',
    description: 'A charge with an unknown outcome is voided.',
    unit: 'short',
    lines: [
      ['sum(walletscope_gate_voids_waiting)', 'waiting'],
      ['min(walletscope_gate_journal_durable)', 'durable'],
    ],
  },
  {
    title: 'Latency of answers',
    description: 'All routes of the API.',
    unit: 's',
    lines: [0.5, 0.95, 0.99].map((quantile) => [
      `histogram_quantile(${quantile}, sum by (le) (rate(${DURATION}{${API}}[$__rate_interval])))`,
      `p${quantile * 100}`,
    ]),
  },
  {
    title: 'Answers a second by status',
    description: 'Refusals included.',
    unit: 'reqps',
    lines: [[`sum by (status) (rate(walletscope_http_requests_total{${API}}[$__rate_interval]))`, '{{status}}']],
  },
  {
    title: 'Database',
    description:
      'Time of a batch of the gate, for which every request waits twice; statements waiting for a connection.',
    unit: 's',
    lines: [
      [
        'histogram_quantile(0.99, sum by (le, step) (rate(walletscope_gate_batch_duration_seconds_bucket[$__rate_interval])))',
        'p99 of {{step}}',
      ],
      ['sum by (lane) (rate(walletscope_database_wait_seconds_total[$__rate_interval]))', 'waiting in {{lane}}'],
    ],
  },
  {
    title: 'Age of the newest block',
    description: 'By chain; it grows while the chain gets no requests.',
    unit: 's',
    lines: [['min by (chain_id) (walletscope_chain_head_age_seconds)', 'chain {{chain_id}}']],
  },
  {
    title: 'Endpoints that fail',
    description: 'By position in the configuration, from 1.',
    unit: 'reqps',
    lines: [
      [
        'sum by (chain_id, endpoint) (rate(walletscope_rpc_requests_total{outcome=~"failed|busy"}[$__rate_interval])) > 0',
        'chain {{chain_id}}, endpoint {{endpoint}}',
      ],
    ],
  },
  {
    title: 'History: blocks left',
    description: 'Global histories, while they are indexed.',
    unit: 'short',
    lines: [['max by (chain_id, stream) (walletscope_history_blocks_left)', 'chain {{chain_id}}, {{stream}}']],
  },
  {
    title: 'CPU and memory',
    description: 'By process; the embedded PostgreSQL has its own.',
    unit: 'short',
    lines: [
      ['rate(process_cpu_seconds_total{job="walletscope"}[$__rate_interval])', 'cores of {{instance}}'],
      ['process_resident_memory_bytes{job="walletscope"} / 1e9', 'GB of {{instance}}'],
    ],
  },
  {
    title: 'Organizations low on credits',
    description: 'Fewer credits left than spent since yesterday.',
    unit: 'short',
    lines: [['max(walletscope_organizations_low_on_credits)', 'organizations']],
  },
]

const WIDTH = 12
const HEIGHT = 8
const COLUMNS = 24 / WIDTH

/** Creates a dashboard for Grafana 9 or later; the import asks for its data source. */
export function grafanaDashboard(): string {
  const datasource = { type: 'prometheus', uid: '$' + '{datasource}' }
  const panels = PANELS.map(({ title, description, unit, lines }, index) => ({
    id: index + 1,
    type: 'timeseries',
    title,
    description,
    datasource,
    gridPos: { w: WIDTH, h: HEIGHT, x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: lines.map(([expr, legendFormat], targetIndex) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + targetIndex),
      datasource,
      expr,
      legendFormat,
    })),
  }))
  return `${JSON.stringify(
    {
      uid: 'walletscope',
      title: 'walletscope',
      schemaVersion: 38,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
      panels,
    },
    null,
    2,
  )}\n`
}
