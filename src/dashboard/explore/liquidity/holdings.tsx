import { isPositive, sumDollars } from '../../lib/decimal.ts'
import type { FullPosition } from '../../lib/shapes.ts'
import { Amount, Usd } from '../../part/figure.tsx'
import { Table } from '../../part/table.tsx'

const TOKENS = ['token0', 'token1'] as const
/** Why the payout of a withdrawal is unknown. */
const WITHDRAWAL_ERRORS: Record<'reverts' | 'unsupported', string> = {
  reverts: 'A simulated withdrawal reverted: its hook does not let it pass.',
  unsupported: "The pool's hook may change withdrawals, and no endpoint can simulate one.",
}

/**
 * Table of a position's amounts by token, with the payout of a collect split into fees and withdrawn principal. The manager
 * stores one sum of both, so until the position's history is read only the sum is known.
 */
export function Holdings({ position }: { position: FullPosition }) {
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
  return (
    <>
      <Table label="Amounts" class="holdings" columns={[<td />, ...columns.map(({ title }) => title), 'Price']}>
        {TOKENS.map((name) => (
          <tr>
            <th scope="row">
              <span class={`dot ${name}`} aria-hidden="true" />
              {state[name].symbol}
            </th>
            {columns.map((column) => (
              <td>
                {column.amounts ? (
                  <Amount value={column.amounts[name].amount} symbol={state[name].symbol} />
                ) : (
                  <Unknown />
                )}
              </td>
            ))}
            <td>
              <Usd value={usd[`${name}_price`]} />
            </td>
          </tr>
        ))}
        <tr class="sum">
          <th scope="row">USD</th>
          {columns.map((each) => (
            <td>{each.amounts ? <Usd value={each.usd} /> : <Unknown />}</td>
          ))}
          <td />
        </tr>
      </Table>
      {rewards?.map(({ token, amount, usd: worth, apr }) => (
        <p class="soft">
          Reward: <Amount value={amount} symbol={token.symbol} /> {token.symbol}, worth <Usd value={worth} />
          {apr !== null && (
            <>
              ; <a href="formulas#apr">APR</a> now {apr} %
            </>
          )}
        </p>
      ))}
      {error && <p class="soft">{WITHDRAWAL_ERRORS[error]} Its value is not counted.</p>}
      {!isSplit && (
        <p class="soft">
          {pays ? (
            <>
              Collecting pays <Usd value={pays} />: fees,
            </>
          ) : (
            'What collecting pays is fees,'
          )}{' '}
          or principal that was withdrawn before. The position's history separates them.
        </p>
      )}
    </>
  )
}

function Unknown() {
  return <span class="absent">not separated</span>
}
