import { requestUnlessGone } from '../lib/api.js'
import { hasReceipt } from '../lib/catalog.js'
import { downloadFile } from '../lib/download.js'
import { useSignal } from '../lib/hooks.js'
import { pluralize } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { Copy } from '../part/copy.js'
import { Provenance } from '../part/provenance.js'
import { Csv } from './csv.js'

/** Price of a receipt, in addition to the answer, which is requested again. */
const CREDITS = 2

/** @typedef {Pick<import('./page.js').Context, 'key' | 'catalog'>} RequestContext */

/**
 * Provenance of an answer, with buttons for its CSV and its receipt.
 * @param {{ answer: import('../lib/api.js').Answer, context: RequestContext }} props
 */
export function AnswerSource({ answer, context }) {
  const { key, catalog } = context
  return html`<${Provenance} answer=${answer} catalog=${catalog}>
    <${Csv} answer=${answer} apiKey=${key} catalog=${catalog} /><${Receipt} key=${answer.path} answer=${answer} context=${context} />
  <//>`
}

/**
 * Button that requests the receipt of an answer at its block, downloads it, and shows the command that verifies it. Renders
 * nothing if the answer cannot have a receipt.
 * @param {{ answer: import('../lib/api.js').Answer, context: RequestContext }} props
 */
export function Receipt({ answer, context: { key, catalog } }) {
  const [state, setState] = useState(/** @type {{ file?: string, failure?: string, isLoading?: boolean }} */ ({}))
  const startSignal = useSignal()
  const download = async () => {
    setState({ isLoading: true })
    const signal = startSignal()
    /** @type {import('../lib/api.js').Answer<{ receipt?: { payload: string } }> | import('../lib/api.js').Failure | undefined} */
    const response = await requestUnlessGone(toReceiptPath(answer), { key, signal })
    if (response === undefined) return undefined
    if (!response.ok) return setState({ failure: response.message })
    const { receipt } = response.body
    if (receipt === undefined) return setState({ failure: 'The answer came without a receipt.' })
    const file = `${JSON.parse(atob(receipt.payload)).id}.json`
    downloadFile(file, JSON.stringify(receipt), 'application/json')
    return setState({ file })
  }
  if (!hasReceipt(catalog, answer.path)) return null
  const { file, failure, isLoading = false } = state
  const price = answer.credits === undefined ? '' : `, ${pluralize(answer.credits + CREDITS, 'credit')}`
  return html`<div class="receipt">
    <button type="button" class="small" disabled=${isLoading} onClick=${download}>Receipt${price}</button>
    ${failure === undefined ? null : html`<p role="alert">${failure}</p>`}
    ${file === undefined ? null : html`<${Verify} file=${file} />`}
  </div>`
}

/** @param {{ file: string }} props */
function Verify({ file }) {
  const keys = new URL('.well-known/walletscope-keys.json', document.baseURI).href
  const command = `walletscope verify ${file} --key ${keys}`
  return html`<p role="status">Saved. Verify it with:</p>
    <div class="command"><pre tabindex="0"><code>${command}</code></pre><${Copy} text=${command} label="Copy the command" /></div>`
}

/**
 * Returns the path of the same request with a receipt, pinned to the block of the answer.
 * @param {import('../lib/api.js').Answer} answer
 */
function toReceiptPath({ path, asOf: [read] }) {
  const [route = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  parameters.delete('at_time')
  if (read !== undefined && (parameters.has('chain_id') || /\/position\/\d+\//.test(route))) {
    parameters.set('at_block', read.block)
  }
  parameters.set('receipt', 'true')
  return `${route}?${parameters}`
}
