import { useScrolledTo } from '../../lib/hooks.js'
import { formatDay, parseMoment, pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { DefinitionList } from '../../part/figure.js'
import { formatQuery } from '../requests/plan.js'
import { PolledAnswer } from '../requests/polling.js'
import { computeLifetime, feeAprSinceOpening } from './fee_apr.js'
import { Flows, useFlows } from './flows.js'
import { LookBack } from './look_back.js'
import { FeeApr } from './rate.js'

const DAY_SEC = 86_400

/**
 * The life of a position: when it was opened and closed, what it earned in fees, and its flows. It is read when it is
 * scrolled to if the history is there, else for its price.
 * @param {{ position: import('../../lib/shapes.d.ts').Position, pnl: import('../../lib/shapes.d.ts').ProfitAndLoss | undefined, served: import('../../lib/catalog.js').Liquidity, context: import('../page.js').Context }} props
 */
export function PositionHistory({ position, pnl, served, context }) {
  const { key, view } = context
  const [ref, near] = useScrolledTo()
  const [wanted, setWanted] = useState(false)
  const isThere = position.pnl_status === 'ready'
  const base = `v1/positions/${served.protocol}/${position.token_id}`
  const place = { chain_id: position.chain_id, manager_address: position.manager_address }
  const query = formatQuery({ ...place, ...(view.asOf === '' ? {} : { at_time: view.asOf }) })
  const { asked, rows } = useFlows(wanted || (near && isThere) ? `${base}/events?${query}` : undefined, key)
  if (!served.events) return null
  if (!wanted && !isThere)
    return html`<p class="more"><button type="button" onClick=${() => setWanted(true)}>Dates and flows <i>${pluralize(served.credits.events, 'credit')}</i></button></p>`
  const until = Math.min(parseMoment(view.asOf), Math.floor(Date.now() / 1000))
  const { token0, token1 } = position.position_state
  return html`<div class="life" ref=${ref}>
    <${PolledAnswer} asked=${asked} what="The history of the position" context=${context} render=${(
      /** @type {{ body: import('../../lib/shapes.d.ts').LiquidityEvents }} */ { body },
    ) => html`
      ${rows === undefined ? html`<p class="soft">It has ${pluralize(body.pagination.total, 'flow')}: more than this page reads, so its dates and fee APR are not shown.</p>` : html`<${Dates} life=${computeLifetime(rows, position.is_active)} pnl=${pnl} untilSec=${until} />`}
      ${rows !== undefined && position.is_active && html`<${LookBack} position=${position} flows=${rows} base=${base} place=${place} untilSec=${until} served=${served} context=${context} />`}
      <${Flows} body=${body} symbols=${[token0.symbol, token1.symbol]} />`} />
  </div>`
}

/** @param {{ life: ReturnType<typeof computeLifetime>, pnl: import('../../lib/shapes.d.ts').ProfitAndLoss | undefined, untilSec: number }} props */
function Dates({ life, pnl, untilSec }) {
  const { openedSec, closedSec } = life
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
            html`<${FeeApr} rate=${feeAprSinceOpening({ pnl, life, untilSec })} />`,
          ],
        ]),
  ]} />`
}
