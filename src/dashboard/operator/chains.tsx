import { useAnswer } from '../lib/hooks.ts'
import type { Chain } from '../lib/shapes.ts'
import { pluralize } from '../lib/time.ts'
import { classes } from '../lib/view.ts'
import { EmptyState, LoadedAnswer } from '../part/notice.tsx'
import { Table } from '../part/table.tsx'
import { BASE } from './base.ts'

const LOOK_MS = 5_000

type Endpoint = Chain['endpoints'][number]

/** Colour and text of an endpoint's state. */
const STATES: Record<string, readonly [string, string]> = {
  ready: ['good', 'answers'],
  doubtful: ['warn', 'failed lately'],
  open: ['bad', 'fails'],
  removed: ['bad', 'serves another chain'],
}

/** Chains and their endpoints. Endpoints are numbered, because their URLs may contain secrets. */
export function Chains() {
  const request = useAnswer<{ data: readonly Chain[] }>(`${BASE}/chains`, LOOK_MS)
  return (
    <LoadedAnswer request={request} waiting="Loading chains">
      {draw}
    </LoadedAnswer>
  )
}

function draw({ data: rows }: { data: readonly Chain[] }) {
  return (
    <section class="family" aria-label="Chains">
      <h2>Chains</h2>
      <p class="soft">
        State of this process, refreshed every {LOOK_MS / 1000} seconds. Endpoints are numbered by their position in the
        configuration; errors count since the start; the depth of kept state is measured once an hour.
      </p>
      <div class="card">
        {rows.length === 0 ? (
          <EmptyState title="No chain is configured">Set RPC_URL_1 and the like.</EmptyState>
        ) : (
          <Table
            label="Chains"
            columns={['Chain', 'Endpoint', 'State', 'Answers in', 'Head', 'Behind', 'Errors', 'State kept']}
          >
            {rows.map((row) => [drawChain(row), ...row.endpoints.map(drawEndpoint)])}
          </Table>
        )}
      </div>
    </section>
  )
}

function drawChain({ name, chain_id: id, ready }: Chain) {
  return (
    <tr>
      <th scope="row">
        {name} <span class="soft">{id}</span>
      </th>
      <td />
      <td>
        <span class={classes('badge', ready ? 'good' : 'bad')}>{ready ? 'answers' : 'does not answer'}</span>
      </td>
      <td colspan={5} />
    </tr>
  )
}

function drawEndpoint(each: Endpoint, index: number) {
  const [tone, state] = STATES[each.state] ?? ['', each.state]
  const head =
    each.head_block === null ? (
      '–'
    ) : (
      <>
        {each.head_block.toLocaleString('en')} <span class="soft">{each.head_age_sec} s old</span>
      </>
    )
  const lag = each.behind ? 'far' : each.lag_blocks === null ? '–' : pluralize(each.lag_blocks, 'block')
  return (
    <tr>
      <td />
      <td>{index + 1}</td>
      <td>
        <span class={tone}>{state}</span>
      </td>
      <td>{each.latency_ms === null ? '–' : `${each.latency_ms} ms`}</td>
      <td>{head}</td>
      <td>{lag}</td>
      <td>{each.errors.toLocaleString('en')}</td>
      <td>{formatDepth(each.state_depth)}</td>
    </tr>
  )
}

function formatDepth(depth: Endpoint['state_depth']) {
  if (depth === null) return '–'
  if (depth === 'all') return 'all blocks'
  return depth === 0 ? 'none' : `${pluralize(depth, 'block')} or more`
}
