import { withQuery } from '../lib/account.ts'
import { useAnswer } from '../lib/hooks.ts'
import type { LoggedRequest, RequestLog } from '../lib/shapes.ts'
import { classes, useState } from '../lib/view.ts'
import { Choice, Field } from '../part/field.tsx'
import { EmptyState } from '../part/notice.tsx'
import { PagedTable } from '../part/table.tsx'

const LIVE_MS = 2_500
const CLOCK = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
})
const COLUMNS = ['When (UTC)', 'Status', 'Path', 'Key', 'Took', 'Credits']
type Filter = Record<'range' | 'errors' | 'status_code' | 'path' | 'api_key_id', string>

const EMPTY: Filter = { range: '24h', errors: 'all', status_code: '', path: '', api_key_id: '' }

/** Log of requests with its filters. The first page refreshes itself. */
export function Log({ path }: { path: string }) {
  const [filter, setFilter] = useState(EMPTY)
  const [page, setPage] = useState(1)
  const [live, setLive] = useState(true)
  const request = useAnswer<RequestLog>(
    withQuery(path, { ...filter, page, limit: 25 }),
    live && page === 1 ? LIVE_MS : undefined,
  )
  const change = (name: keyof Filter) => (value: string) => {
    setPage(1)
    setFilter({ ...filter, [name]: value.trim() })
  }
  const isUnfiltered = (Object.keys(EMPTY) as (keyof Filter)[]).every((name) => filter[name] === EMPTY[name])
  const empty = (
    <EmptyState title="No request fits">
      {isUnfiltered
        ? 'Calls with a key of this organization appear here as they are made.'
        : 'Widen the range or drop a filter.'}
    </EmptyState>
  )
  return (
    <div class="card">
      <Filters filter={filter} change={change} live={live} onLive={() => setLive(!live)} />
      <PagedTable
        label="Requests"
        class="log"
        columns={COLUMNS}
        request={request}
        waiting="Reading the log"
        empty={empty}
        noun="request"
        onPage={setPage}
      >
        {(row: LoggedRequest) => (
          <tr>
            <td>{CLOCK.format(Date.parse(row.requested_at))}</td>
            <td>
              <b class={row.status_code < 400 ? 'good' : row.status_code < 500 ? 'warn' : 'bad'}>{row.status_code}</b>
            </td>
            <td class="mono">
              {row.method} {row.path}
            </td>
            <td>
              <button
                type="button"
                class="small quiet"
                onClick={() => change('api_key_id')(row.api_key_id)}
                aria-label={`${row.api_key_name}: only this key`}
              >
                {row.api_key_name}
              </button>
            </td>
            <td>{row.latency_ms.toLocaleString('en')} ms</td>
            <td>{row.credits_charged.toLocaleString('en')}</td>
          </tr>
        )}
      </PagedTable>
    </div>
  )
}

interface FiltersProps {
  readonly filter: Filter
  readonly change: (name: keyof Filter) => (value: string) => void
  readonly live: boolean
  readonly onLive: () => void
}

function Filters({ filter, change, live, onLive }: FiltersProps) {
  return (
    <div class="fields inline">
      <Choice label="Over" value={filter.range} options={['5m', '1h', '24h', '7d', '30d']} onValue={change('range')} />
      <Choice
        label="Outcome"
        value={filter.errors}
        options={['all', ['success', 'successes'], 'errors']}
        onValue={change('errors')}
      />
      <Field
        label="Status"
        size={4}
        inputmode="numeric"
        value={filter.status_code}
        late
        onValue={change('status_code')}
        placeholder="any"
      />
      <Field
        label="Path"
        place="grow"
        class="mono"
        value={filter.path}
        late
        onValue={change('path')}
        placeholder="any"
      />
      <Field
        label="Key id"
        class="mono"
        size={14}
        value={filter.api_key_id}
        late
        onValue={change('api_key_id')}
        placeholder="any"
      />
      <button type="button" class={classes('live', live && 'on')} aria-pressed={live} onClick={onLive}>
        Live
      </button>
    </div>
  )
}
