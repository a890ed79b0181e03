import { html } from '../../lib/view.js'
import { LendingPart } from '../section.js'
import { TriggerBell } from '../trigger/bell.js'
import { LendingCard } from './card.js'
import { MarketHistory } from './history.js'
import { aaveLegs } from './legs.js'

const ETHEREUM = 1
/** Aave's own names of its markets on Ethereum. Other chains have one market, named after the chain. @type {Record<string, string>} */
const MARKET_NAMES = { main: 'Core', lido: 'Prime', etherfi: 'EtherFi' }

/**
 * The markets of Aave V3 on one chain.
 * @param {{ part: import('../requests/answers.js').RequestedPart, context: import('../page.js').Context }} props
 */
export function AavePart({ part, context }) {
  const { chainId } = part
  return html`<${LendingPart} part=${part} context=${context}>${drawPosition}<//>`

  /** @param {import('../../lib/shapes.d.ts').AavePosition} position @param {import('../../lib/shapes.d.ts').LendingFigures} figures @param {string} wallet */
  function drawPosition(position, figures, wallet) {
    const { marketId, healthFactor } = position
    const name = `Aave V3, market ${marketId}`
    /** @type {import('../trigger/bell.js').Watched} */
    const watched = {
      chainId,
      family: 'aave-v3',
      subject: { wallet, market_id: marketId },
      name,
      figure: 'health_factor',
      value: healthFactor,
    }
    return html`<${LendingCard} key=${marketId} label=${name} family="Aave V3" place=${formatMarketName(marketId, chainId)} position=${position} bell=${html`<${TriggerBell} watched=${watched} context=${context} />`} figures=${figures} legs=${aaveLegs(position)}>
      <${MarketHistory} chainId=${chainId} marketId=${marketId} context=${context} />
    <//>`
  }
}

/** @param {string} marketId @param {number} chainId */
function formatMarketName(marketId, chainId) {
  const name = chainId === ETHEREUM ? MARKET_NAMES[marketId] : undefined
  return name === undefined ? marketId : `${name} (${marketId})`
}
