import { chainName } from '../../lib/catalog.js'
import { html } from '../../lib/view.js'
import { Proof } from '../../part/proof.js'
import { Receipt } from '../receipt.js'
import { LendingCard } from './card.js'
import { MarketHistory } from './history.js'

/**
 * The markets of Aave V3 on one chain.
 * @param {{ part: import('../asking.js').AskedPart, context: import('../page.js').Context }} props
 */
export function AavePart({ part, context }) {
  const { answer, chainId } = part
  if (answer === undefined || answer.ok === false) return null
  const { data } = /** @type {import('../../lib/shapes.d.ts').AaveList} */ (answer.body)
  return html`<div class="part">
    <h3>${chainName(context.catalog, chainId)}</h3>
    <div class="stack">
      ${data.map((result) =>
        result.positions.map(
          (position, index) =>
            html`<${LendingCard} key=${position.marketId} label=${`Aave V3, market ${position.marketId}`} family="Aave V3" place=${position.marketId} position=${position} figures=${result.calculations[index]}>
              <${MarketHistory} chainId=${chainId} marketId=${position.marketId} context=${context} />
            <//>`,
        ),
      )}
    </div>
    <${Proof} answer=${answer} catalog=${context.catalog}><${Receipt} key=${answer.path} answer=${answer} context=${context} /><//>
  </div>`
}
