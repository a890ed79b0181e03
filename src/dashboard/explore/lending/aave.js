import { html } from '../../lib/view.js'
import { Proof } from '../../part/proof.js'
import { Bell } from '../bell/bell.js'
import { Csv } from '../csv.js'
import { Receipt } from '../receipt.js'
import { PartHead } from '../section.js'
import { LendingCard } from './card.js'
import { MarketHistory } from './history.js'
import { aaveLegs } from './legs.js'

const ETHEREUM = 1
/** What Aave calls its markets on Ethereum; elsewhere there is one, named after its chain. @type {Record<string, string>} */
const MARKET_NAMES = { main: 'Core', lido: 'Prime', etherfi: 'EtherFi' }

/**
 * The markets of Aave V3 on one chain.
 * @param {{ part: import('../asking/asking.js').AskedPart, context: import('../page.js').Context }} props
 */
export function AavePart({ part, context }) {
  const { answer, chainId } = part
  if (answer === undefined || answer.ok === false) return null
  const { data } = /** @type {import('../../lib/shapes.d.ts').AaveList} */ (answer.body)
  /** @param {import('../../lib/shapes.d.ts').LendingPosition & { marketId: string }} position @returns {import('../bell/bell.js').Watched} */
  const watchedIn = ({ marketId, healthFactor }, /** @type {string} */ wallet) => ({
    chainId,
    family: 'aave-v3',
    subject: { wallet, market_id: marketId },
    name: `Aave V3, market ${marketId}`,
    figure: 'health_factor',
    value: healthFactor,
  })
  return html`<div class="part">
    <${PartHead} part=${part} context=${context} />
    <div class="stack">
      ${data.map((result) =>
        result.positions.map(
          (position, index) =>
            html`<${LendingCard} key=${position.marketId} label=${`Aave V3, market ${position.marketId}`} family="Aave V3" place=${marketName(position.marketId, chainId)} position=${position} bell=${html`<${Bell} watched=${watchedIn(position, result.wallet)} context=${context} />`} figures=${result.calculations[index]} legs=${aaveLegs(position)}>
              <${MarketHistory} chainId=${chainId} marketId=${position.marketId} context=${context} />
            <//>`,
        ),
      )}
    </div>
    <${Proof} answer=${answer} catalog=${context.catalog}><${Csv} answer=${answer} apiKey=${context.key} catalog=${context.catalog} /><${Receipt} key=${answer.path} answer=${answer} context=${context} /><//>
  </div>`
}

/** @param {string} marketId @param {number} chainId */
function marketName(marketId, chainId) {
  const name = chainId === ETHEREUM ? MARKET_NAMES[marketId] : undefined
  return name === undefined ? marketId : `${name} (${marketId})`
}
