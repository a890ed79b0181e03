import { withQuery } from '../../lib/account.ts'
import { useAnswer } from '../../lib/hooks.ts'
import type { Usage } from '../../lib/shapes.ts'
import { formatDay } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
import { Choice } from '../field.tsx'
import { EmptyState, LoadedAnswer } from '../notice.tsx'
import { Bars } from './bars.tsx'

/** Names with a colour of their own; the remaining ones share another. */
const NAMED_MAX = 5
const HOUR_MS = 3_600_000
const RANGES = ['24h', '7d', '30d', '90d']
const HOUR = new Intl.DateTimeFormat('en', {
  weekday: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
})

interface UsageChartProps {
  readonly path: string
  readonly choices: readonly (readonly [string, string])[]
  readonly names?: ReadonlyMap<string, string>
  readonly range: string
  readonly onRange: (range: string) => void
}

/** Chart of requests over time, grouped by the selected field. */
export function UsageChart({ path, choices, names = new Map(), range, onRange }: UsageChartProps) {
  const [by, setBy] = useState(choices[0]?.[0] ?? 'path')
  const request = useAnswer<{ data: Usage }>(withQuery(path, { range, by }))
  return (
    <>
      <div class="fields inline">
        <Choice label="Over" value={range} options={RANGES} onValue={onRange} />
        <Choice label="By" value={by} options={choices} onValue={setBy} />
      </div>
      <LoadedAnswer request={request} waiting="Counting">
        {({ data }: { data: Usage }) =>
          data.rows.length === 0 ? (
            <EmptyState title={`No request in ${range}`} />
          ) : (
            <UsageBars data={data} names={names} />
          )
        }
      </LoadedAnswer>
    </>
  )
}

function UsageBars({ data, names }: { data: Usage; names: ReadonlyMap<string, string> }) {
  const stepMs = data.step === 'hour' ? HOUR_MS : 24 * HOUR_MS
  const from = Date.parse(data.from)
  const count = Math.round((Date.parse(data.to) - from) / stepMs)
  const slots = Array.from({ length: count }, (_, index) => formatSlot(from + index * stepMs, data.step))
  const values = new Map<string, number[]>()
  for (const { at, name, requests } of data.rows) {
    const row = values.get(name) ?? Array(count).fill(0)
    const slot = Math.floor((Date.parse(at) - from) / stepMs)
    row[slot] = (row[slot] ?? 0) + Number(requests)
    values.set(name, row)
  }
  const ranked = [...values].sort(([, a], [, b]) => sum(b) - sum(a))
  const remaining = ranked.slice(NAMED_MAX)
  const series = ranked.slice(0, NAMED_MAX).map(([name, each], index) => ({
    name: formatName(data.by, name, names),
    kind: getKind(data.by, name, index),
    values: each,
  }))
  if (remaining.length > 0)
    series.push({
      name: `${remaining.length} more`,
      kind: 'rest',
      values: slots.map((_, index) => sum(remaining.map(([, each]) => each[index] ?? 0))),
    })
  return (
    <>
      <Bars title={`Requests by ${data.step}`} unit="requests" slots={slots} series={series} />
      <ul class="legend">
        {series.map(({ name, kind, values: each }) => (
          <li>
            <i class={`key ${kind}`} aria-hidden="true" />
            {name} <b>{sum(each).toLocaleString('en')}</b>
          </li>
        ))}
      </ul>
      {data.is_cut && <p class="soft">The oldest are left out: there is too much to show at once.</p>}
    </>
  )
}

function sum(values: readonly number[]) {
  return values.reduce((sum, value) => sum + value, 0)
}

function formatSlot(ms: number, step: string) {
  return step === 'hour' ? HOUR.format(ms) : formatDay(ms / 1000)
}

function formatName(by: string, name: string, names: ReadonlyMap<string, string>) {
  if (by === 'path' && name === '') return 'requests without a route'
  return names.get(name) ?? name
}

/** Returns the colour class of a series; statuses have a colour by class (2xx, 4xx, 5xx). */
function getKind(by: string, name: string, index: number) {
  if (by !== 'status') return `c${index}`
  return name.startsWith('2') ? 'ok' : name.startsWith('4') ? `refused${index % 2}` : 'broken'
}
