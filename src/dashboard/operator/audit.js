import { act, withQuery } from '../lib/account.js'
import { useLoaded } from '../lib/hooks.js'
import { momentText } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'
import { Pager } from '../part/pager.js'
import { BASE } from './base.js'

/**
 * Every change: who, when and what; of one organization if it is named.
 * @param {{ organizationId?: string }} props
 */
export function Audit({ organizationId }) {
  const [page, setPage] = useState(1)
  const path = withQuery(`${BASE}/audit`, { organization_id: organizationId, page, limit: 25 })
  const { value: answer, again } = useLoaded((signal) => act(path, { signal }), [path])
  return html`<section class="family" aria-label="Audit list">
    <h2>Audit list</h2>
    <div class="card">
      ${answer === undefined && html`<${Waiting}>Reading the audit list<//>`}
      ${answer?.ok === false && html`<${Trouble} failure=${answer} onRetry=${again} />`}
      ${answer?.ok && answer.body.data.length === 0 && html`<${Empty} title="Nothing was changed yet" />`}
      ${
        answer?.ok &&
        answer.body.data.length > 0 &&
        html`<div class="scroll" tabindex="0" role="group" aria-label="Changes"><table>
          <thead><tr><th scope="col">When</th><th scope="col" class="words">Who</th><th scope="col" class="words">What</th><th scope="col" class="words">Of what</th><th scope="col" class="words">Details</th></tr></thead>
          <tbody>${answer.body.data.map(
            (/** @type {any} */ row) => html`<tr>
              <td>${momentText(row.at)}</td><td class="words">${row.actor}</td><td class="words">${row.action}</td>
              <td class="words mono">${row.subject}</td><td class="words mono">${details(row.detail)}</td>
            </tr>`,
          )}</tbody>
        </table></div>
        <${Pager} pagination=${answer.body.pagination} noun="change" onPage=${setPage} />`
      }
    </div>
  </section>`
}

/** @param {Record<string, unknown>} detail */
function details(detail) {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')
}
