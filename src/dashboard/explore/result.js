import { walletKind } from '../lib/address.js'
import { chainName } from '../lib/catalog.js'
import { html, useId, useState } from '../lib/view.js'
import { Empty, Trouble } from '../part/notice.js'
import { Proof } from '../part/proof.js'
import { useAnswers } from './asking.js'
import { AddForm } from './form.js'
import { AavePart } from './lending/aave.js'
import { KaminoCard, MorphoCard } from './lending/other.js'
import { LiquidityPart } from './liquidity/part.js'
import { PAGE_SIZE, planOf } from './plan.js'
import { Summary } from './summary.js'

/** @typedef {import('./asking.js').AskedPart} AskedPart */

/**
 * Everything about one wallet.
 * @param {{ context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void, spent: number }} props
 */
export function Result({ context, setView, spent }) {
  const { catalog, view, key } = context
  const [more, setMore] = useState({
    pages: /** @type {Record<number, number>} */ ({}),
    closed: /** @type {Record<number, number>} */ ({}),
  })
  const { parts, again } = useAnswers(planOf(view, catalog, more), key)
  const of = (/** @type {AskedPart['family']} */ family) => parts.filter((part) => part.family === family)
  const add =
    (/** @type {'pages' | 'closed'} */ name, /** @type {number} */ chainId, /** @type {number} */ usual) => () =>
      setMore({ ...more, [name]: { ...more[name], [chainId]: (more[name][chainId] ?? usual) + 1 } })
  const evm = walletKind(view.wallet) === 'evm'
  return html`
    ${parts.length > 0 && html`<${Summary} parts=${parts} catalog=${catalog} spent=${spent} />`}
    ${
      evm &&
      html`
      <${Section} title="Liquidity" parts=${[...of('liquidity'), ...of('closed')]} again=${again} catalog=${catalog} nothing="No open liquidity positions">
        ${[...of('liquidity'), ...of('closed')].filter((part) => !isEmpty(part)).map((part) => html`<${LiquidityPart} key=${part.path} part=${part} context=${context} ...${handlers(part, parts, add)} />`)}
      <//>
      <${Section} title="Aave V3" parts=${of('aave')} again=${again} catalog=${catalog} nothing="Nothing supplied or borrowed" aside=${html`<${Target} context=${context} setView=${setView} />`}>
        ${of('aave').map((part) => (isEmpty(part) ? null : html`<${AavePart} key=${part.path} part=${part} context=${context} />`))}
      <//>`
    }
    ${evm && catalog.morphoChains.length > 0 && html`<${Morpho} parts=${of('morpho')} context=${context} setView=${setView} again=${again} />`}
    ${!evm && (catalog.kamino ? html`<${Kamino} parts=${of('kamino')} context=${context} setView=${setView} again=${again} />` : html`<${Empty} title="Solana is not served here">The operator sets SOLANA_RPC_URL to serve it.<//>`)}
  `
}

/** What a part offers more of: the last page the next one, and the first one closed positions. */
function handlers(part, parts, add) {
  if (part.answer === undefined || !part.answer.ok) return {}
  const { pagination } = part.answer.body
  const same = parts.filter(({ family, chainId }) => family === part.family && chainId === part.chainId)
  const last = same.at(-1)?.path === part.path
  const closedShown = parts.some(({ family, chainId }) => family === 'closed' && chainId === part.chainId)
  return {
    ...(last && pagination.total > pagination.page * PAGE_SIZE
      ? { onMore: add(part.family === 'closed' ? 'closed' : 'pages', part.chainId, part.family === 'closed' ? 0 : 1) }
      : {}),
    ...(last && part.family === 'liquidity' && !closedShown ? { onClosed: add('closed', part.chainId, 0) } : {}),
  }
}

/** @param {AskedPart} part */
function isEmpty({ answer }) {
  return (
    answer?.ok === true &&
    answer.body.data.length === 0 &&
    (answer.body.counts?.total ?? 0) === 0 &&
    (answer.body.counts?.spams.length ?? 0) === 0
  )
}

/**
 * A family: what was found, what failed, and where nothing was.
 * @param {{ title: string, parts: readonly AskedPart[], again: (path: string) => void, catalog: import('../lib/catalog.js').Catalog, nothing: string, aside?: unknown, children: unknown }} props
 */
function Section({ title, parts, again, catalog, nothing, aside, children }) {
  const waiting = parts.some(({ answer }) => answer === undefined)
  const found = parts.some((part) => part.answer?.ok && !isEmpty(part))
  const empty = parts.filter(isEmpty)
  const failed = parts.filter(({ answer }) => answer?.ok === false)
  return html`<section class="family" aria-label=${title}>
    <div class="family-head"><h2>${title}</h2>${aside}</div>
    ${failed.map(({ path, chainId, answer }) => answer?.ok === false && html`<${Trouble} failure=${answer} title=${`${chainName(catalog, chainId)} could not be read`} onRetry=${() => again(path)} />`)}
    ${children}
    ${!found && !waiting && failed.length === 0 && html`<${Empty} title=${nothing} />`}
    ${
      empty.length > 0 &&
      html`<details class="nothing-on">
      <summary>Nothing on ${empty.map(({ chainId }) => chainName(catalog, chainId)).join(', ')}</summary>
      ${empty.map(({ answer }) => answer?.ok && html`<${Proof} answer=${answer} catalog=${catalog} />`)}
    </details>`
    }
  </section>`
}

/** The health factor that safe amounts keep. @param {{ context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void }} props */
function Target({ context: { view }, setView }) {
  const id = useId()
  return html`<p class="target-choice"><label for=${id}>Safe amounts keep a health factor of</label>
    <select id=${id} value=${view.target} onChange=${(/** @type {any} */ event) => setView({ ...view, target: event.target.value })}>
      ${[...new Set([view.target, '1.1', '1.25', '1.5', '2', '3'])].map((each) => html`<option value=${each}>${each}</option>`)}
    </select></p>`
}

/** @typedef {{ parts: readonly AskedPart[], context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void, again: (path: string) => void }} MoreProps */

/** @param {MoreProps} props */
function Morpho({ parts, context, setView, again }) {
  const { view, catalog } = context
  return html`<section class="family" aria-label="Morpho Blue">
    <div class="family-head"><h2>Morpho Blue</h2></div>
    <div class="stack">
      ${parts.map((part) => html`<${MorphoCard} key=${part.path} parts=${[part]} context=${context} again=${again} onRemove=${() => setView({ ...view, morpho: view.morpho.filter((each) => each !== `${part.chainId}:${part.id}`) })} />`)}
      <${AddForm} title="Morpho Blue: add a market" intro="Morpho Blue has no list of a wallet's markets: it is asked about one at a time. Add the markets that you know of; the link keeps them."
        fields=${[
          {
            name: 'chain',
            label: 'Chain',
            form: /^\d+$/,
            fault: 'Choose a chain.',
            options: catalog.morphoChains.map((id) => [String(id), chainName(catalog, id)]),
          },
          {
            name: 'market',
            label: 'Market id',
            form: /^0x[0-9a-fA-F]{64}$/,
            fault: 'A market id is 0x and 64 hexadecimal digits.',
          },
        ]}
        onAdd=${(/** @type {Record<string, string>} */ { chain, market }) => setView({ ...view, morpho: [...view.morpho, `${chain}:${market}`] })} />
    </div>
  </section>`
}

const SOLANA_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/

/** @param {MoreProps} props */
function Kamino({ parts, context, setView, again }) {
  const { view } = context
  return html`<section class="family" aria-label="Kamino">
    <div class="family-head"><h2>Kamino</h2><${Target} context=${context} setView=${setView} /></div>
    <div class="stack">
      ${view.kamino.map((pair) => {
        const mine = parts.filter(({ id }) => id === pair.split(':')[0])
        return html`<${KaminoCard} key=${pair} parts=${mine} context=${context} again=${again} onRemove=${() => setView({ ...view, kamino: view.kamino.filter((each) => each !== pair) })} />`
      })}
      <${AddForm} title="Kamino: add an obligation" intro="On Kamino a wallet's loans are obligations, each in one market, and it is asked about one at a time. Add those that you know of; the link keeps them."
        fields=${[
          {
            name: 'obligation',
            label: 'Obligation',
            form: SOLANA_ADDRESS,
            fault: 'An obligation is a Solana address, 32 to 44 base58 characters.',
          },
          {
            name: 'market',
            label: 'Market',
            form: SOLANA_ADDRESS,
            fault: 'A market is a Solana address, 32 to 44 base58 characters.',
          },
        ]}
        onAdd=${(/** @type {Record<string, string>} */ { obligation, market }) => setView({ ...view, kamino: [...view.kamino, `${obligation}:${market}`] })} />
    </div>
  </section>`
}
