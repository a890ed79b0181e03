import { act } from '../lib/account.js'
import { useLoaded } from '../lib/hooks.js'
import { classes, html, useEffect } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'
import { BASE } from './base.js'

const LOOK_MS = 10_000

/**
 * The histories of contracts: how many wallets or positions have one, which blocks are stored of everybody, and up to
 * which final block.
 */
export function Histories() {
  const { value: answer, again } = useLoaded((signal) => act(`${BASE}/history`, { signal }), [])
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again()
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [])
  if (answer === undefined) return html`<${Waiting}>Asking how far histories are<//>`
  if (!answer.ok) return html`<${Trouble} failure=${answer} onRetry=${again} />`
  const rows = answer.body.data
  return html`<section class="family" aria-label="Histories">
    <h2>Histories</h2>
    <div class="card">
      ${
        rows.length === 0
          ? html`<${Empty} title="No history is stored">The first request for events or for profit and loss starts one.<//>`
          : html`<div class="scroll" tabindex="0" role="group" aria-label="Histories"><table>
            <thead><tr>
              <th scope="col">Contract</th><th scope="col">Chain</th><th scope="col" class="words">Rows</th>
              <th scope="col">Wallets or positions</th><th scope="col">Blocks of everybody</th>
              <th scope="col">Final block</th><th scope="col">State</th>
            </tr></thead>
            <tbody>${rows.map(row)}</tbody>
          </table></div>`
      }
    </div>
  </section>`
}

/** @param {any} history */
function row({ contract, chain_id, stream, subjects, everybody, anchor_block, stopped }) {
  const ranges = everybody.map(
    (/** @type {any} */ { from_block, to_block }) =>
      `${from_block.toLocaleString('en')}–${to_block.toLocaleString('en')}`,
  )
  return html`<tr>
    <th scope="row" class="mono">${contract}</th>
    <td>${chain_id}</td>
    <td class="words">${stream}</td>
    <td>${subjects.toLocaleString('en')}</td>
    <td>${ranges.length === 0 ? 'none' : ranges.join(', ')}</td>
    <td>${anchor_block === null ? 'none' : anchor_block.toLocaleString('en')}</td>
    <td><span class=${classes('badge', stopped ? 'bad' : 'good')}>${stopped ? 'stopped' : 'followed'}</span></td>
  </tr>`
}
