import type { Liquidity } from '../../lib/catalog.ts'
import type { Position, ProfitAndLoss } from '../../lib/shapes.ts'
import { formatDay, parseMoment, pluralize } from '../../lib/time.ts'
import { DefinitionList } from '../../part/figure.tsx'
import type { Context } from '../page.tsx'
import { Offer, usePress } from '../requests/offer.tsx'
import { PolledAnswer } from '../requests/polling.tsx'
import { computeLifetime, listFlows, rewardAprSinceOpening } from './fee_apr.ts'
import { Flows, toFlowsId, useFlows } from './flows.tsx'
import { formatFlowsPrice, toFlowsPath } from './histories.tsx'
import { LookBack } from './look_back.tsx'
import { lacksHistory } from './pnl.tsx'
import { FeeApr } from './rate.tsx'

const DAY_SEC = 86_400

interface PositionHistoryProps {
  readonly position: Position
  readonly pnl: ProfitAndLoss | undefined
  readonly served: Liquidity
  readonly context: Context
  /** When the position was read; its figures are of then, however long the page stays open. */
  readonly atSec: number
}

/** History of a position: opening and closing, fee APR, and flows. Read on a click, because it costs credits. */
export function PositionHistory({ position, pnl, served, context, atSec }: PositionHistoryProps) {
  const { view } = context
  const base = `v1/positions/${served.protocol}/${position.token_id}`
  const target = { chain_id: position.chain_id, manager_address: position.manager_address }
  const path = toFlowsPath(position, { protocol: served.protocol, view })
  const { isPressed, press } = usePress(context, [toFlowsId(path)])
  const { request, rows: events } = useFlows(isPressed ? path : undefined, context)
  const rows = events && listFlows(events)
  if (!served.events || lacksHistory(position)) return null
  if (!isPressed)
    return (
      <p class="more">
        <Offer price={formatFlowsPrice(served.credits.events)} onPress={press}>
          Dates and flows
        </Offer>
      </p>
    )
  const until = Math.min(parseMoment(view.asOf), atSec)
  const { token0, token1 } = position.position_state
  return (
    <div class="life">
      <PolledAnswer
        request={request}
        what="The history of the position"
        context={context}
        render={({ body }) => (
          <>
            {rows === undefined ? (
              <p class="soft">
                It has {pluralize(body.pagination.total, 'flow')}: more than this page reads, so its dates are not
                shown.
              </p>
            ) : (
              <Dates lifetime={computeLifetime(rows, position.is_active)} pnl={pnl} untilSec={until} />
            )}
            {rows !== undefined && position.is_active && (
              <LookBack
                position={position}
                flows={rows}
                base={base}
                target={target}
                untilSec={until}
                served={served}
                context={context}
              />
            )}
            <Flows body={body} symbols={[token0.symbol, token1.symbol]} />
          </>
        )}
      />
    </div>
  )
}

interface DatesProps {
  readonly lifetime: ReturnType<typeof computeLifetime>
  readonly pnl: ProfitAndLoss | undefined
  readonly untilSec: number
}

function Dates({ lifetime, pnl, untilSec }: DatesProps) {
  const { openedSec, closedSec } = lifetime
  if (openedSec === undefined) return null
  const days = Math.floor(((closedSec ?? untilSec) - openedSec) / DAY_SEC)
  return (
    <DefinitionList
      rows={[
        ['Opened', formatDay(openedSec)],
        ...(closedSec === undefined ? [] : [['Closed', formatDay(closedSec)] as const]),
        [closedSec === undefined ? 'Age' : 'Was open', days === 0 ? 'less than a day' : pluralize(days, 'day')],
        ...(pnl === undefined
          ? []
          : [
              ...(pnl.pnl_with_rewards === pnl.pnl_usd_value
                ? []
                : [
                    [
                      <>
                        <a href="formulas#explore.reward_apr_since_opening">Reward APR</a> since opening
                      </>,
                      <FeeApr rate={rewardAprSinceOpening({ pnl, lifetime, untilSec })} />,
                    ] as const,
                  ]),
            ]),
      ]}
    />
  )
}
