import { formatDay, parseMoment, pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { DefinitionList } from '../../part/figure.js'
import { Offer, usePress } from '../requests/offer.js'
import { PolledAnswer } from '../requests/polling.js'
import { computeLifetime, feeAprSinceOpening } from './fee_apr.js'
import { Flows, toFlowsId, useFlows } from './flows.js'
import { formatFlowsPrice, toFlowsPath } from './histories.js'
import { LookBack } from './look_back.js'
import { lacksHistory } from './pnl.js'
import { FeeApr } from './rate.js'

const DAY_SEC = 86_400

/**
 * History of a position: opening and closing, fee APR, and flows. Read on a click, because it costs credits.
 * @param {{ position: import('../../lib/shapes.d.ts').Position, pnl: import('../../lib/shapes.d.ts').ProfitAndLoss | undefined, served: import('../../lib/catalog.js').Liquidity, context: import('../page.js').Context, atSec: number }} props `atSec`: when the position was read; its figures are of then, however long the page stays open
 */
export function PositionHistory({ position, pnl, served, context, atSec }) {
  const { view } = context
  const base = `v1/positions/${served.protocol}/${position.token_id}`
  const target = { chain_id: position.chain_id, manager_address: position.manager_address }
  const path = toFlowsPath(position, { protocol: served.protocol, view })
  const { isPressed, press } = usePress(context, [toFlowsId(path)])
  const { request, rows } = useFlows(isPressed ? path : undefined, context)
  if (!served.events || lacksHistory(position)) return null
  if (!isPressed)
    return html`<p class="more"><${Offer} price=${formatFlowsPrice(served.credits.events)} onPress=${press}>Dates and flows<//></p>`
  const until = Math.min(parseMoment(view.asOf), atSec)
  const { token0, token1 } = position.position_state
  return html`<div class="life">
    <${PolledAnswer} request=${request} what="The history of the position" context=${context} render=${(
      /** @type {{ body: import('../../lib/shapes.d.ts').LiquidityEvents }} */ { body },
    ) => html`
      ${rows === undefined ? html`<p class="soft">It has ${pluralize(body.pagination.total, 'flow')}: more than this page reads, so its dates and fee APR are not shown.</p>` : html`<${Dates} lifetime=${computeLifetime(rows, position.is_active)} pnl=${pnl} untilSec=${until} />`}
      ${rows !== undefined && position.is_active && html`<${LookBack} position=${position} flows=${rows} base=${base} target=${target} untilSec=${until} served=${served} context=${context} />`}
      <${Flows} body=${body} symbols=${[token0.symbol, token1.symbol]} />`} />
  </div>`
}

/** @param {{ lifetime: ReturnType<typeof computeLifetime>, pnl: import('../../lib/shapes.d.ts').ProfitAndLoss | undefined, untilSec: number }} props */
function Dates({ lifetime, pnl, untilSec }) {
  const { openedSec, closedSec } = lifetime
  if (openedSec === undefined) return null
  const days = Math.floor(((closedSec ?? untilSec) - openedSec) / DAY_SEC)
  return html`<${DefinitionList} rows=${[
    ['Opened', formatDay(openedSec)],
    ...(closedSec === undefined ? [] : [['Closed', formatDay(closedSec)]]),
    [closedSec === undefined ? 'Age' : 'Was open', days === 0 ? 'less than a day' : pluralize(days, 'day')],
    ...(pnl === undefined
      ? []
      : [
          [
            html`<a href="formulas#explore.fee_apr_since_opening">Fee APR</a> since opening`,
            html`<${FeeApr} rate=${feeAprSinceOpening({ pnl, lifetime, untilSec })} />`,
          ],
        ]),
  ]} />`
}
