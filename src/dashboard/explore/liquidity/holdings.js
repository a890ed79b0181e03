import { isPositive, sumDollars } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Amount, Usd } from '../../part/figure.js'
import { Table } from '../../part/table.js'

/** Why nobody knows what a withdrawal pays. @type {Record<'reverts' | 'unsupported', string>} */
const BARRED = {
  reverts: 'A withdrawal was executed in this reading, and its hook does not let it pass.',
  unsupported: 'The hook sees withdrawals, and no endpoint shows what one would pay.',
}

/**
 * What collecting would pay, told apart: fees, and principal that was withdrawn before. The manager keeps one sum of
 * both, so until the position's history is read only the sum is known.
 * @param {{ position: import('../../lib/shapes.d.ts').FullPosition }} props amounts of a position by token
 */
export function Holdings({ position }) {
  const { position_state: state, amounts, uncollected_fees: fees, withdrawn_principal: withdrawn, usd } = position
  const { rewards, withdrawable, withdrawable_error: error } = position
  const known = fees !== null
  const hasWithdrawn = !!withdrawn && [withdrawn.token0, withdrawn.token1].some(({ amount }) => isPositive(amount))
  const columns = [
    { title: 'Holds', of: amounts, usd: usd.amounts },
    { title: 'Uncollected fees', of: fees, usd: usd.uncollected_fees },
    ...(hasWithdrawn ? [{ title: 'Withdrawn, not collected', of: withdrawn, usd: usd.withdrawn_principal }] : []),
    ...(withdrawable ? [{ title: 'A withdrawal pays', of: withdrawable, usd: usd.total }] : []),
  ]
  const pays = usd.total === null || known ? undefined : sumDollars([usd.total, `-${usd.amounts}`])
  return html`<${Table} label="Amounts" class="holdings" columns=${[html`<td></td>`, ...columns.map(({ title }) => title), 'Price']}>
      ${['token0', 'token1'].map(
        (name) => html`<tr>
          <th scope="row"><span class=${`dot ${name}`} aria-hidden="true"></span>${state[name].symbol}</th>
          ${columns.map(({ of }) => html`<td>${of ? html`<${Amount} value=${of[name].amount} symbol=${state[name].symbol} />` : html`<${Unknown} />`}</td>`)}
          <td><${Usd} value=${usd[`${name}_price`]} /></td>
        </tr>`,
      )}
      <tr class="sum"><th scope="row">USD</th>${columns.map((each) => html`<td>${each.of ? html`<${Usd} value=${each.usd} />` : html`<${Unknown} />`}</td>`)}<td></td></tr>
    <//>
    ${rewards?.map(({ token, amount, usd: worth }) => html`<p class="soft">Reward: <${Amount} value=${amount} symbol=${token.symbol} /> ${token.symbol}, worth <${Usd} value=${worth} /></p>`)}
    ${error && html`<p class="soft">${BARRED[error]} Its value is not counted.</p>`}
    ${!known && html`<p class="soft">${pays ? html`Collecting pays <${Usd} value=${pays} />: fees,` : 'What collecting pays is fees,'} or principal that was withdrawn before. The position's history tells them apart.</p>`}`
}

function Unknown() {
  return html`<span class="absent">not told apart</span>`
}
