import { requestApi } from '../lib/api.js'
import { hasReceipt } from '../lib/catalog.js'
import { downloadFile } from '../lib/download.js'
import { pluralize } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { Copy } from '../part/copy.js'
import { Provenance } from '../part/provenance.js'
import { Csv } from './csv.js'

/** What a receipt costs besides the answer, which is asked for again. */
const CREDITS = 2

/** @typedef {Pick<import('./page.js').Context, 'key' | 'catalog'>} Asking */

/**
 * Where an answer comes from, and what else can be had of it: a table, and a receipt.
 * @param {{ answer: import('../lib/api.js').Answer, context: Asking }} props
 */
export function AnswerSource({ answer, context }) {
  const { key, catalog } = context
  return html`<${Provenance} answer=${answer} catalog=${catalog}>
    <${Csv} answer=${answer} apiKey=${key} catalog=${catalog} /><${Receipt} key=${answer.path} answer=${answer} context=${context} />
  <//>`
}

/**
 * Asks for the receipt of an answer at its block, if there is one, and shows the command that verifies the file.
 * @param {{ answer: import('../lib/api.js').Answer, context: Asking }} props
 */
export function Receipt({ answer, context: { key, catalog } }) {
  const [state, setState] = useState(/** @type {{ file?: string, failure?: string, isAsked?: boolean }} */ ({}))
  const get = async () => {
    setState({ isAsked: true })
    /** @type {import('../lib/api.js').Answer<{ receipt?: { payload: string } }> | import('../lib/api.js').Failure} */
    const asked = await requestApi(receiptPath(answer), { key })
    if (!asked.ok) return setState({ failure: asked.message })
    const { receipt } = asked.body
    if (receipt === undefined) return setState({ failure: 'The answer came without a receipt.' })
    const file = `${JSON.parse(atob(receipt.payload)).id}.json`
    downloadFile(file, JSON.stringify(receipt), 'application/json')
    return setState({ file })
  }
  if (!hasReceipt(catalog, answer.path)) return null
  const { file, failure, isAsked = false } = state
  const price = answer.credits === undefined ? '' : `, ${pluralize(answer.credits + CREDITS, 'credit')}`
  return html`<div class="receipt">
    <button type="button" class="small" disabled=${isAsked} onClick=${get}>Receipt${price}</button>
    ${failure === undefined ? null : html`<p role="alert">${failure}</p>`}
    ${file === undefined ? null : html`<${Verify} file=${file} />`}
  </div>`
}

/** @param {{ file: string }} props */
function Verify({ file }) {
  const keys = new URL('.well-known/walletscope-keys.json', document.baseURI).href
  const command = `walletscope verify ${file} --key ${keys}`
  return html`<p role="status">Saved. Anybody can check it:</p>
    <div class="command"><pre tabindex="0"><code>${command}</code></pre><${Copy} text=${command} label="Copy the command" /></div>`
}

/**
 * The same question about the very block that was answered.
 * @param {import('../lib/api.js').Answer} answer
 */
function receiptPath({ path, asOf: [read] }) {
  const [route = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  parameters.delete('at_time')
  if (read !== undefined && (parameters.has('chain_id') || /\/position\/\d+\//.test(route))) {
    parameters.set('at_block', read.block)
  }
  parameters.set('receipt', 'true')
  return `${route}?${parameters}`
}
