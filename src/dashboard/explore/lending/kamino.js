import { BASE58_ADDRESS, shortenAddress } from '../../lib/address.js'
import { SOLANA_CHAIN_ID } from '../../lib/catalog.js'
import { html } from '../../lib/view.js'
import { Copy } from '../../part/copy.js'
import { ExplorerLink } from '../../part/explorer_link.js'
import { AddForm } from '../form.js'
import { LendingPart } from '../section.js'
import { TriggerBell } from '../trigger/bell.js'
import { LendingCard } from './card.js'
import { KaminoCard } from './kamino_card.js'
import { kaminoLegs } from './legs.js'

/** @typedef {import('../requests/answers.js').RequestedPart} RequestedPart */
/** @typedef {import('../../lib/shapes.d.ts').KaminoList['data'][number]['positions'][number]} KaminoPosition */

const SIDES = 'Of an obligation each side moves as a whole; debt is counted as Kamino weighs it, by borrow factors.'

/**
 * Kamino obligations that the service found for the wallet.
 * @param {{ part: RequestedPart, context: import('../page.js').Context }} props
 */
export function KaminoPart({ part, context }) {
  return html`<${LendingPart} part=${part} context=${context}>${drawPosition}<//>`

  /** @param {KaminoPosition} position @param {import('../../lib/shapes.d.ts').LendingFigures} figures @param {string} wallet */
  function drawPosition(position, figures, wallet) {
    const { obligation_address: id, marketName, marketId, marketKnown } = position
    const place = `${marketName || shortenAddress(marketId)}${marketKnown ? '' : ' (in no table, in no sum)'}`
    return html`<${LendingCard} key=${id} label=${`Kamino, obligation ${id}`} family="Kamino" place=${place} note=${html`<${Address} id=${id} catalog=${context.catalog} />`} bell=${html`<${TriggerBell} watched=${toWatched(position, wallet)} context=${context} />`} position=${position} figures=${figures} legs=${kaminoLegs(position, figures)} whatIfNote=${SIDES} />`
  }
}

/** @param {KaminoPosition} position @param {string} wallet @returns {import('../trigger/bell.js').Watched} */
function toWatched({ obligation_address: obligation, marketId, healthFactor }, wallet) {
  return {
    chainId: SOLANA_CHAIN_ID,
    family: 'kamino',
    subject: { wallet, obligation_address: obligation, market_address: marketId },
    name: `Kamino, obligation ${shortenAddress(obligation)}`,
    figure: 'health_factor',
    value: healthFactor,
  }
}

/** @param {{ id: string, catalog: import('../../lib/catalog.js').Catalog }} props */
function Address({ id, catalog }) {
  return html`<p class="soft"><${ExplorerLink} catalog=${catalog} chainId=${SOLANA_CHAIN_ID} id=${id} label="the obligation"><code title=${id}>${shortenAddress(id)}</code><//><${Copy} text=${id} label="Copy the whole id" /></p>`
}

const SOLANA_ADDRESS = 'a Solana address, 32 to 44 base58 characters.'

/**
 * Obligations added by the reader, shown if the service cannot find all: those of the link, and a form to add more.
 * @param {{ lists: readonly RequestedPart[], parts: readonly RequestedPart[], context: import('../page.js').Context, setView: (view: import('../../lib/link.js').View) => void }} props
 */
export function KaminoAdded({ lists, parts, context, setView }) {
  const { view, catalog } = context
  const bodies = lists.flatMap(({ answer }) =>
    answer?.ok ? [/** @type {import('../../lib/shapes.d.ts').KaminoList} */ (answer.body)] : [],
  )
  const markets = bodies.find(({ coverage }) => !coverage.complete)?.coverage.markets
  if (markets === undefined && view.kamino.length === 0) return null
  return html`<section class="family" aria-label=${view.label('Kamino, added')}>
    <div class="stack">
      ${view.kamino.map((pair) => {
        const ownParts = parts.filter(({ id }) => id === pair.split(':')[0])
        return html`<${KaminoCard} key=${pair} parts=${ownParts} context=${context} onRemove=${() => setView({ ...view, kamino: view.kamino.filter((each) => each !== pair) })} />`
      })}
      ${
        markets !== undefined &&
        html`<${AddForm} title="Kamino: add an obligation" credits=${catalog.credits.kamino} intro=${`No endpoint of this service searches Kamino's accounts: usual obligations in ${markets} markets were looked for, and others may be missing. Add those that you know of; the link keeps them.`}
        fields=${[
          {
            name: 'obligation',
            label: 'Obligation',
            form: BASE58_ADDRESS,
            fault: `An obligation is ${SOLANA_ADDRESS}`,
          },
          { name: 'market', label: 'Market', form: BASE58_ADDRESS, fault: `A market is ${SOLANA_ADDRESS}` },
        ]}
        onAdd=${(/** @type {Record<string, string>} */ { obligation, market }) => setView({ ...view, kamino: [...view.kamino, `${obligation}:${market}`] })} />`
      }
    </div>
  </section>`
}
