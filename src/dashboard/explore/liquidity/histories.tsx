import type { View } from '../../lib/link.ts'
import type { Position, PositionList } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import type { Context } from '../page.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import { Offer, toPressId } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import { FLOW_PAGES_MAX, toFlowsId } from './flows.tsx'
import { lacksHistory } from './pnl.tsx'

/** Path of a position's flows up to the moment of the view. */
export function toFlowsPath(
  { token_id, chain_id, manager_address }: Position,
  { protocol, view }: { protocol: string; view: Pick<View, 'asOf'> },
) {
  const query = formatQuery({ chain_id, manager_address, ...(view.asOf === '' ? {} : { at_time: view.asOf }) })
  return `v1/positions/${protocol}/${token_id}/events?${query}`
}

/** Price of a number of histories, each of one page of flows or more. `credits`: a page. */
export function formatFlowsPrice(credits: number, count: number = 1) {
  return `${credits * count} to ${pluralize(credits * count * FLOW_PAGES_MAX, 'credit')}`
}

interface HistoriesOfferProps {
  readonly parts: readonly RequestedPart[]
  readonly context: Context
  readonly onPress: () => void
}

/**
 * Button that reads the histories of all positions that are shown, as far as the service has them at hand. Renders nothing
 * for fewer than two.
 */
export function HistoriesOffer({ parts, context, onPress }: HistoriesOfferProps) {
  const { catalog, view, paid, pressed } = context
  const unread = parts.flatMap(({ answer, protocol }) => {
    const served = catalog.liquidity.find((each) => each.protocol === protocol)
    if (!answer?.ok || !served?.events) return []
    const { data } = answer.body as PositionList
    return data
      .filter((position) => position.pnl_status === 'ready' && !lacksHistory(position))
      .map((position) => toFlowsId(toFlowsPath(position, { protocol: served.protocol, view })))
      .filter((id) => !paid.has(id) && !pressed.has(toPressId([id])))
      .map((id) => ({ id, credits: served.credits.events }))
  })
  if (unread.length < 2) return null
  const press = () => {
    for (const { id } of unread) pressed.add(toPressId([id]))
    onPress()
  }
  const credits = unread.reduce((sum, each) => sum + each.credits, 0)
  return (
    <p class="more">
      <Offer price={formatFlowsPrice(credits)} onPress={press}>
        Read {unread.length} histories
      </Offer>
    </p>
  )
}
