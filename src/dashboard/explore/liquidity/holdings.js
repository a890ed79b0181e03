import { isPositive, sumDollars } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Amount, Usd } from '../../part/figure.js'
import { Table } from '../../part/table.js'

/** Why the payout of a withdrawal is unknown. @type {Record<'reverts' | 'unsupported', string>} */
const WITHDRAWAL_ERRORS = {
  reverts: 'A simulated withdrawal reverted: its hook does not let it pass.',
  unsupported: "The pool's hook may change withdrawals, and no endpoint can simulate one.",
}

/**
 * Table of a position's amounts by token, with the payout of a collect split into fees and withdrawn principal. The manager
 * stores one sum of both, so until the position's history is read only the sum is known.
 * @param {{ position: import('../../lib/shapes.d.ts').FullPosition }} props
 */
export function Holdings({ position }) {
  const { position_state: state, amounts, uncollected_fees: fees, withdrawn_principal: withdrawn, usd } = position
  const { rewards, withdrawable, withdrawable_error: error } = position
  const isSplit = fees !== null
  const hasWithdrawn = !!withdrawn && [withdrawn.token0, withdrawn.token1].some(({ amount }) => isPositive(amount))
  const columns = [
    { title: 'Holds', amounts, usd: usd.amounts },
    { title: 'Uncollected fees', amounts: fees, usd: usd.uncollected_fees },
    ...(hasWithdrawn ? [{ title: 'Withdrawn, not collected', amounts: withdrawn, usd: usd.withdrawn_principal }] : []),
    ...(withdrawable ? [{ title: 'A withdrawal pays', amounts: withdrawable, usd: usd.total }] : []),
  ]
  const pays = usd.total === null || isSplit ? undefined : sumDollars([usd.total, `-${usd.amounts}`])
  return html`<${Table} label="Amounts" class="holdings" columns=${[html`<td></td>`, ...columns.map(({ title }) => title), 'Price']}>
      ${['token0', 'token1'].map(
        (name) => html`<tr>
          <th scope="row"><span class=${`dot ${name}`} aria-hidden="true"></span>${state[name].symbol}</th>
          ${columns.map((column) => html`<td>${column.amounts ? html`<${Amount} value=${column.amounts[name].amount} symbol=${state[name].symbol} />` : html`<${Unknown} />`}</td>`)}
          <td><${Usd} value=${usd[`${name}_price`]} /></td>
        </tr>`,
      )}
      <tr class="sum"><th scope="row">USD</th>${columns.map((each) => html`<td>${each.amounts ? html`<${Usd} value=${each.usd} />` : html`<${Unknown} />`}</td>`)}<td></td></tr>
    <//>
    ${rewards?.map(({ token, amount, usd: worth }) => html`<p class="soft">Reward: <${Amount} value=${amount} symbol=${token.symbol} /> ${token.symbol}, worth <${Usd} value=${worth} /></p>`)}
    ${error && html`<p class="soft">${WITHDRAWAL_ERRORS[error]} Its value is not counted.</p>`}
    ${!isSplit && html`<p class="soft">${pays ? html`Collecting pays <${Usd} value=${pays} />: fees,` : 'What collecting pays is fees,'} or principal that was withdrawn before. The position's history separates them.</p>`}`
}

function Unknown() {
  return html`<span class="absent">not separated</span>`
}
