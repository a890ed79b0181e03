import { withQuery } from '../../lib/account.js'
import { useAnswer } from '../../lib/hooks.js'
import { formatDay } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { Choice } from '../field.js'
import { EmptyState, LoadedAnswer } from '../notice.js'
import { Bars } from './bars.js'

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

/**
 * Chart of requests over time, grouped by the selected field.
 * @param {{ path: string, choices: readonly (readonly [string, string])[], names?: ReadonlyMap<string, string>, range: string, onRange: (range: string) => void }} props
 */
export function UsageChart({ path, choices, names = new Map(), range, onRange }) {
  const [by, setBy] = useState(choices[0]?.[0] ?? 'path')
  const request = useAnswer(withQuery(path, { range, by }))
  return html`<div class="fields inline">
      <${Choice} label="Over" value=${range} options=${RANGES} onValue=${onRange} />
      <${Choice} label="By" value=${by} options=${choices} onValue=${setBy} />
    </div>
    <${LoadedAnswer} request=${request} waiting="Counting">
      ${(/** @type {{ data: import('../../lib/shapes.d.ts').Usage }} */ { data }) => (data.rows.length === 0 ? html`<${EmptyState} title=${`No request in ${range}`} />` : html`<${UsageBars} data=${data} names=${names} />`)}
    <//>`
}

/** @param {{ data: import('../../lib/shapes.d.ts').Usage, names: ReadonlyMap<string, string> }} props */
function UsageBars({ data, names }) {
  const stepMs = data.step === 'hour' ? HOUR_MS : 24 * HOUR_MS
  const from = Date.parse(data.from)
  const count = Math.round((Date.parse(data.to) - from) / stepMs)
  const slots = Array.from({ length: count }, (_, index) => formatSlot(from + index * stepMs, data.step))
  /** @type {Map<string, number[]>} */
  const values = new Map()
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
  return html`<${Bars} title=${`Requests by ${data.step}`} unit="requests" slots=${slots} series=${series} />
    <ul class="legend">${series.map(({ name, kind, values: each }) => html`<li><i class=${`key ${kind}`} aria-hidden="true"></i>${name} <b>${sum(each).toLocaleString('en')}</b></li>`)}</ul>
    ${data.is_cut && html`<p class="soft">The oldest are left out: there is too much to show at once.</p>`}`
}

/** @param {readonly number[]} values */
function sum(values) {
  return values.reduce((sum, value) => sum + value, 0)
}

/** @param {number} ms @param {string} step */
function formatSlot(ms, step) {
  return step === 'hour' ? HOUR.format(ms) : formatDay(ms / 1000)
}

/** @param {string} by @param {string} name @param {ReadonlyMap<string, string>} names */
function formatName(by, name, names) {
  if (by === 'path' && name === '') return 'requests without a route'
  return names.get(name) ?? name
}

/** Returns the colour class of a series; statuses have a colour by class (2xx, 4xx, 5xx). @param {string} by @param {string} name @param {number} index */
function getKind(by, name, index) {
  if (by !== 'status') return `c${index}`
  return name.startsWith('2') ? 'ok' : name.startsWith('4') ? `refused${index % 2}` : 'broken'
}
