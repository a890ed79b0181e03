import type { Answer, Failure } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import { useTask } from '../../lib/hooks.ts'
import type { PositionEvent, PositionEvents } from '../../lib/shapes.ts'
import { formatMoment, pluralize } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
import { Amount, Usd } from '../../part/figure.tsx'
import { Table } from '../../part/table.tsx'
import type { Context } from '../page.tsx'
import type { Outcome } from '../requests/polling.tsx'
import { pollAnswer } from '../requests/polling.tsx'

type Events = PositionEvents
type Flow = PositionEvent

interface FlowsState {
  readonly answer: Outcome<Events>
  /** All flows, oldest first; undefined if there are more than the page reads. */
  readonly rows?: readonly Flow[] | undefined
}

const PAGE_SIZE = 25
/** Pages of flows that are read at most: a hundred flows. */
export const FLOW_PAGES_MAX = 4
const SHOWN_MAX = 25

const VERBS: Record<Flow['type'], string> = {
  increase: 'Deposited',
  decrease: 'Withdrew',
  collect: 'Collected',
  stake: 'Staked',
  unstake: 'Took back',
  reward: 'Claimed a reward',
}

function toFlowPagePath(path: string, page: number) {
  return `${path}&limit=${PAGE_SIZE}${page > 1 ? `&page=${page}` : ''}`
}

/** Entry of `paid` that says that all pages were read that this page reads. */
export function toFlowsId(path: string) {
  return `${path} read`
}

/**
 * Reads all flows of a position up to the moment of the view, oldest first, in pages of 25. `rows` is undefined if
 * there are more than `FLOW_PAGES_MAX` pages. Pages in `paid` are not requested again. Without `path`
 * there is no request.
 */
export function useFlows(path: string | undefined, { key, paid }: Pick<Context, 'key' | 'paid'>) {
  const [state, setState] = useState<Partial<FlowsState>>({})
  const read = (signal: AbortSignal) => readAll(path ?? '', { key, paid, signal, onState: setState })
  const readAgain = useTask(path === undefined ? undefined : read, [path, key])
  const again = () => {
    setState({})
    readAgain()
  }
  return { request: { answer: state.answer, again }, rows: state.rows }
}

async function readAll(
  path: string,
  {
    key,
    paid,
    signal,
    onState,
  }: Pick<Context, 'key' | 'paid'> & {
    signal: AbortSignal
    onState: (state: FlowsState) => void
  },
) {
  const getPaid = (page: number) => paid.get(toFlowPagePath(path, page)) as Answer<Events> | undefined
  const keep = (page: number, answer: Outcome<Events>) => {
    if (answer?.ok) paid.set(toFlowPagePath(path, page), answer)
  }
  let first: Outcome<Events> = getPaid(1)
  if (first === undefined) {
    await pollAnswer(toFlowPagePath(path, 1), {
      key,
      signal,
      onAnswer: (answer: Outcome<Events>) => {
        first = answer
        keep(1, answer)
        if (!answer?.ok) onState({ answer })
      },
    })
  }
  if (!first?.ok) return
  const rows = [...first.body.data]
  const pages = Math.ceil(first.body.pagination.total / PAGE_SIZE)
  for (let page = 2; page <= pages && pages <= FLOW_PAGES_MAX; page++) {
    const next: Answer<Events> | Failure =
      getPaid(page) ?? (await requestApi(toFlowPagePath(path, page), { key, signal }))
    keep(page, next)
    if (!next.ok) return onState({ answer: next })
    rows.push(...next.body.data)
  }
  paid.set(toFlowsId(path), first)
  return onState({ answer: first, rows: pages <= FLOW_PAGES_MAX ? rows.toReversed() : undefined })
}

interface FlowsProps {
  readonly body: Events
  readonly symbols: readonly [string, string]
}

/** Newest flows and their total. */
export function Flows({ body: { data, pagination }, symbols: [symbol0, symbol1] }: FlowsProps) {
  const shown = data.slice(0, SHOWN_MAX)
  return (
    <details class="as-table">
      <summary>{pluralize(pagination.total, 'flow')}: deposits, withdrawals, collects</summary>
      <Table label="Flows" class="events" columns={['When', 'What', symbol0, symbol1, 'Value then']}>
        {shown.map(({ timestamp, type, amounts, usd_value: usd, reward }) => (
          <tr>
            <td>{formatMoment(timestamp)}</td>
            <td>
              <i class={`key ${type}`} aria-hidden="true" />
              {VERBS[type]}
            </td>
            <td>
              <Amount value={amounts.token0.amount} symbol={symbol0} />
            </td>
            <td>
              <Amount value={amounts.token1.amount} symbol={symbol1} />
            </td>
            <td>
              {type === 'decrease' ? (
                <span class="soft">when collected</span>
              ) : (
                <Usd value={reward ? reward.usd : usd} />
              )}
            </td>
          </tr>
        ))}
      </Table>
      {pagination.total > shown.length && (
        <p class="soft">
          The newest {shown.length} of {pagination.total}.
        </p>
      )}
    </details>
  )
}
