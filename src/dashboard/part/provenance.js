import { chainName, SOLANA_CHAIN_ID } from '../lib/catalog.js'
import { formatMoment, pluralize } from '../lib/time.js'
import { html } from '../lib/view.js'
import { Copy } from './copy.js'
import { Disclosure } from './disclosure.js'

/**
 * Provenance of an answer: blocks, time, credits, duration, and the equivalent `curl` call.
 * @param {{ answer: import('../lib/api.js').Answer, catalog: import('../lib/catalog.js').Catalog, children?: unknown }} props
 */
export function Provenance({ answer, catalog, children }) {
  const { asOf, atSec, credits, ms, path } = answer
  return html`<footer class="proof">
    <p>
      ${asOf.map(
        ({ chainId, block }) =>
          html`<span>${chainName(catalog, chainId)} ${chainId === SOLANA_CHAIN_ID ? 'slot' : 'block'} <b>${Number(block).toLocaleString('en')}</b></span>`,
      )}
      ${credits === undefined ? null : html`<span><b>${pluralize(credits, 'credit')}</b></span>`}
      <span>${ms.toLocaleString('en')} ms</span>
      <span>read ${formatMoment(atSec)}</span>
    </p>
    <${Curl} path=${path} />
    ${children}
  </footer>`
}

/** The equivalent `curl` call. @param {{ path: string }} props */
function Curl({ path }) {
  const url = new URL(path, document.baseURI).href.replaceAll("'", '%27')
  const command = `curl -H "Authorization: Bearer $WALLETSCOPE_KEY" '${url}'`
  return html`<${Disclosure} class="curl" title="curl">
    <div><pre tabindex="0"><code>${command}</code></pre><${Copy} text=${command} label="Copy the command" /></div>
  <//>`
}
