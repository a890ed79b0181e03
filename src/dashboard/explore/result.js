import { walletKind } from '../lib/address.js'
import { html, useState } from '../lib/view.js'
import { Choice } from '../part/field.js'
import { Empty, Waiting } from '../part/notice.js'
import { Proof } from '../part/proof.js'
import { useAnswers } from './asking.js'
import { causesOf, Notices, preparedOf } from './causes.js'
import { AavePart } from './lending/aave.js'
import { KaminoAdded, KaminoPart } from './lending/kamino.js'
import { MorphoPart } from './lending/morpho.js'
import { LiquidityPart } from './liquidity/part.js'
import { partName, planOf } from './plan.js'
import { Portfolio } from './portfolio/portfolio.js'
import { Summary } from './summary.js'

/** @typedef {import('./asking.js').AskedPart} AskedPart */

/**
 * Everything about one wallet.
 * @param {{ context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void, spent: number }} props
 */
export function Result({ context, setView, spent }) {
  const { catalog, view, key } = context
  const [more, setMore] = useState(/** @type {Record<string, number>} */ ({}))
  const pages = (/** @type {import('./plan.js').Place} */ place) =>
    (place.family === 'closed' ? 0 : 1) + (more[nameOf(place)] ?? 0)
  const { parts, again } = useAnswers(planOf(view, catalog, pages), key)
  const [round, setRound] = useState(0)
  const causes = causesOf(parts)
  const waited = preparedOf(parts, causes)
  const of = (/** @type {AskedPart['family']} */ family) => parts.filter((part) => part.family === family)
  const add = (/** @type {import('./plan.js').Place} */ place) => () =>
    setMore({ ...more, [nameOf(place)]: (more[nameOf(place)] ?? 0) + 1 })
  /** What a part offers more of: the last page the next one, and closed positions if none is shown. */
  const offers = (part) => {
    if (of(part.family).findLast((each) => nameOf(each) === nameOf(part))?.path !== part.path) return {}
    const closed = { ...part, family: 'closed' }
    const none = part.family === 'liquidity' && pages(closed) === 0
    return { onMore: add(part), ...(none && { onClosed: add(closed) }) }
  }
  const evm = walletKind(view.wallet) === 'evm'
  // Endpoints of Solana keep no past.
  const summed = evm || (view.asOf === '' && (catalog.kamino || of('liquidity').length > 0))
  const retry = (/** @type {readonly string[]} */ paths) => {
    again(...paths)
    setRound(round + 1)
  }
  const notices = html`<${Notices} causes=${causes} parts=${parts} catalog=${catalog} again=${retry} />`
  if (parts.length > 0 && causes.asking.flat().length === parts.length) return notices
  const codes = new Set(causes.asking.flat().map(({ answer }) => answer.code))
  const isSettled = parts.every(({ answer }) => answer !== undefined)
  /** True if a notice says already why something else could not be read. */
  const isSaid = (/** @type {import('../lib/api.js').Failure} */ { code, status }) =>
    !isSettled || codes.has(code) || (status >= 500 && causes.chains.length === parts.length)
  const section = { catalog, waited }
  return html`
    ${notices}
    ${parts.length > 0 && html`<${Summary} parts=${parts} waited=${waited} catalog=${catalog} spent=${spent} />`}
    ${summed && catalog.portfolio && html`<${Portfolio} context=${context} round=${round} isSaid=${isSaid} />`}
    ${
      evm &&
      html`
      <${Section} title="Liquidity" parts=${[...of('liquidity'), ...of('closed')]} ...${section} nothing="No open liquidity positions">
        ${(part) => html`<${LiquidityPart} key=${part.path} part=${part} context=${context} ...${offers(part)} />`}
      <//>
      <${Section} title="Aave V3" parts=${of('aave')} ...${section} nothing="Nothing supplied or borrowed" aside=${html`<${Target} context=${context} setView=${setView} />`}>
        ${(part) => html`<${AavePart} key=${part.path} part=${part} context=${context} />`}
      <//>`
    }
    ${
      of('morpho').length > 0 &&
      html`<${Section} title="Morpho Blue" parts=${of('morpho')} ...${section} nothing="Nothing supplied or borrowed">
        ${(part) => html`<${MorphoPart} key=${part.path} part=${part} context=${context} />`}
      <//>`
    }
    ${
      !evm &&
      of('liquidity').length > 0 &&
      html`<${Section} title="Liquidity" parts=${[...of('liquidity'), ...of('closed')]} ...${section} nothing="No open liquidity positions">
        ${(part) => html`<${LiquidityPart} key=${part.path} part=${part} context=${context} ...${offers(part)} />`}
      <//>`
    }
    ${!evm && (catalog.kamino ? html`<${Kamino} of=${of} context=${context} setView=${setView} section=${section} />` : html`<${Empty} title="Solana is not served here">The operator sets SOLANA_RPC_URL to serve it.<//>`)}
  `
}

/** @param {{ family: string, protocol?: string, chainId: number }} place */
function nameOf({ family, protocol, chainId }) {
  return `${family} ${protocol} ${chainId}`
}

/** @param {AskedPart} part */
function isEmpty({ answer }) {
  if (answer?.ok !== true) return false
  const { data, counts } =
    /** @type {{ data: readonly unknown[], counts?: import('../lib/shapes.d.ts').PositionCounts }} */ (answer.body)
  return data.length === 0 && (counts?.total ?? 0) === 0 && (counts?.spams.length ?? 0) === 0
}

/**
 * A family: what was found, what is waited for, and where nothing was; nothing at all if all of it failed. Its child
 * draws a part.
 * @param {{ title: string, parts: readonly AskedPart[], waited: readonly AskedPart[], catalog: import('../lib/catalog.js').Catalog, nothing: string, aside?: unknown, children: (part: AskedPart) => unknown }} props
 */
function Section({ title, parts, waited, catalog, nothing, aside, children }) {
  const empty = parts.filter(isEmpty)
  const mine = waited.filter((part) => parts.includes(part))
  if (mine.length === 0 && parts.length > 0 && parts.every(({ answer }) => answer?.ok === false)) return null
  return html`<section class="family" aria-label=${title}>
    <div class="family-head"><h2>${title}</h2>${aside}</div>
    ${mine.map((part) => part.answer?.ok === false && html`<${Waiting}>${title} on ${partName(catalog, part)}: ${part.answer.message}<//>`)}
    ${parts.filter((part) => !isEmpty(part)).map(children)}
    ${empty.length === parts.length && html`<${Empty} title=${nothing} />`}
    ${
      empty.length > 0 &&
      html`<details class="nothing-on">
      <summary>Nothing on ${empty.map((part) => partName(catalog, part)).join(', ')}</summary>
      ${empty.map(({ answer }) => answer?.ok && html`<${Proof} answer=${answer} catalog=${catalog} />`)}
    </details>`
    }
  </section>`
}

/** The health factor that safe amounts keep. @param {{ context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void }} props */
function Target({ context: { view }, setView }) {
  const options = [...new Set([view.target, '1.1', '1.25', '1.5', '2', '3'])]
  return html`<${Choice} label="Safe amounts keep a health factor of" place="target-choice" value=${view.target} options=${options} onValue=${(target) => setView({ ...view, target })} />`
}

/**
 * @param {{ of: (family: AskedPart['family']) => readonly AskedPart[], context: import('./page.js').Context, setView: (view: import('../lib/link.js').View) => void, section: { catalog: import('../lib/catalog.js').Catalog, waited: readonly AskedPart[] } }} props
 */
function Kamino({ of, context, setView, section }) {
  const { view } = context
  if (view.asOf !== '')
    return html`<section class="family" aria-label="Kamino">
      <div class="family-head"><h2>Kamino</h2></div>
      <${Empty} title="Not shown as of a past moment">Solana's endpoints keep no past, so Kamino can only be read as it is now. Nothing was asked.
        <p class="more"><button type="button" onClick=${() => setView({ ...view, asOf: '' })}>Look at now</button></p><//>
    </section>`
  const lists = of('kamino')
  return html`<${Section} title="Kamino" parts=${lists} ...${section} nothing="No obligations" aside=${html`<${Target} context=${context} setView=${setView} />`}>
      ${(part) => html`<${KaminoPart} key=${part.path} part=${part} context=${context} />`}
    <//>
    <${KaminoAdded} lists=${lists} parts=${of('obligation')} context=${context} setView=${setView} />`
}
