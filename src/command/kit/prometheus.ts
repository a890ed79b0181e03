interface Alert {
  readonly name: string
  readonly expr: string
  /** How long the condition must hold. */
  readonly for: string
  readonly severity: 'page' | 'ticket'
  readonly summary: string
}

/** Alert rules on the metrics of `/metrics`. */
const ALERTS: readonly Alert[] = [
  {
    name: 'WalletscopeDown',
    expr: 'up{job="walletscope"} == 0',
    for: '1m',
    severity: 'page',
    summary: '{{ $labels.instance }} cannot be scraped.',
  },
  {
    name: 'WalletscopeDatabaseDown',
    expr: 'walletscope_database_up == 0',
    for: '30s',
    severity: 'page',
    summary: '{{ $labels.instance }} cannot reach its database: all requests fail.',
  },
  {
    name: 'WalletscopeDatabaseWaits',
    expr: 'sum by (instance, lane) (rate(walletscope_database_wait_seconds_total[5m])) > 1',
    for: '10m',
    severity: 'ticket',
    summary: 'More than one statement of lane {{ $labels.lane }} is always waiting for a connection.',
  },
  {
    name: 'WalletscopeAnswersFail',
    // Calls of agents are `GET /mcp/v1/…`. A few failures in a quiet hour are no reason to wake a person.
    expr:
      'sum by (instance) (rate(walletscope_http_requests_total{route=~".+ (/mcp)?/v1/.+",status=~"5.."}[5m])) ' +
      '/ sum by (instance) (rate(walletscope_http_requests_total{route=~".+ (/mcp)?/v1/.+"}[5m])) > 0.05 ' +
      'and sum by (instance) (increase(walletscope_http_requests_total{route=~".+ (/mcp)?/v1/.+",status=~"5.."}[5m])) > 20',
    for: '5m',
    severity: 'page',
    summary: 'More than 5 % of the requests are answered 5xx.',
  },
  {
    name: 'WalletscopeChainStands',
    expr:
      'walletscope_chain_head_age_seconds > 300 ' +
      'and on (instance, chain_id) sum by (instance, chain_id) (rate(walletscope_rpc_requests_total[5m])) > 0',
    for: '5m',
    severity: 'page',
    summary:
      'The newest block of chain {{ $labels.chain_id }} is {{ $value | humanizeDuration }} old, although the chain gets requests.',
  },
  {
    name: 'WalletscopeEndpointFails',
    // Only requests find out that an endpoint works again.
    expr:
      'walletscope_rpc_endpoint_up == 0 and on (instance, chain_id, endpoint) ' +
      'sum by (instance, chain_id, endpoint) (increase(walletscope_rpc_requests_total[15m])) > 0',
    for: '15m',
    severity: 'ticket',
    summary: 'Endpoint {{ $labels.endpoint }} of chain {{ $labels.chain_id }} fails: "walletscope doctor" shows why.',
  },
  {
    name: 'WalletscopeJournalNotDurable',
    expr: 'walletscope_gate_journal_durable == 0',
    for: '1m',
    severity: 'page',
    summary: '{{ $labels.instance }} cannot write its journal: a crash now would lose charges to void.',
  },
  {
    name: 'WalletscopeVoidsWait',
    expr: 'walletscope_gate_voids_waiting > 0',
    for: '10m',
    severity: 'ticket',
    summary: '{{ $value }} charges with an unknown outcome wait for the database.',
  },
  {
    name: 'WalletscopeMidnightMissing',
    expr: 'time() - walletscope_midnight_timestamp_seconds > 2 * 86400',
    for: '1h',
    severity: 'ticket',
    summary: 'Chain {{ $labels.chain_id }} has no block for the last midnight: daily series end there.',
  },
  {
    name: 'WalletscopeTriggersStand',
    expr: 'max by (chain_id, finality) (walletscope_trigger_block_age_seconds) > 300',
    for: '5m',
    severity: 'page',
    summary:
      'Triggers of chain {{ $labels.chain_id }} ({{ $labels.finality }}) were not evaluated for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'WalletscopeMessagesWait',
    expr: 'max(walletscope_message_due_oldest_seconds) > 600',
    for: '10m',
    severity: 'page',
    summary: 'A message of a trigger has been due for {{ $value | humanizeDuration }}: no process posts it.',
  },
  {
    name: 'WalletscopeWorkersExit',
    expr: 'increase(walletscope_worker_restarts_total[15m]) > 3',
    for: '1m',
    severity: 'ticket',
    summary: 'Workers of {{ $labels.instance }} exit again and again: its log says why.',
  },
  {
    name: 'WalletscopeCreditsLow',
    expr: 'max(walletscope_organizations_low_on_credits) > 0',
    for: '5m',
    severity: 'ticket',
    summary: '{{ $value }} organizations have fewer credits left than they spent since yesterday.',
  },
]

/** Creates alert rules for Prometheus, whose job for this service must be called `walletscope`. */
export function prometheusRules(): string {
  const rules = ALERTS.map(
    ({ name, expr, severity, summary, ...alert }) => `      - alert: ${name}
        expr: ${JSON.stringify(expr)}
        for: ${alert.for}
        labels: { severity: ${severity} }
        annotations:
          summary: ${JSON.stringify(summary)}`,
  )
  return `# For scrape_configs: { job_name: walletscope, static_configs: [{ targets: ['…:8081'] }] }
groups:
  - name: walletscope
    rules:
${rules.join('\n')}
`
}
