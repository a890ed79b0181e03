import { formatUsdE6 } from '../../finance/figure.ts'
import { presentAmount, presentToken } from '../present.ts'
import type { Row } from '../sum/row.ts'
import type { OwnMoney } from './own_money.ts'

/** Presents what a wallet does without money from elsewhere. `arrivesE6`: undefined if that is not known, or has no price. */
export function presentOwnMoney(
  { arrived, lacking }: OwnMoney,
  { rows, arrivesE6 }: { readonly rows: readonly Row[]; readonly arrivesE6: bigint | undefined },
) {
  const brought = lacking?.flatMap(({ token: address, amount }) => {
    const token = rows.find((row) => row.token.address === address)?.token
    return token === undefined ? [] : [{ token: presentToken(token), amount: presentAmount(amount, token.decimals) }]
  })
  return {
    arrives_usd: arrivesE6 === undefined ? null : formatUsdE6(arrivesE6),
    lacking: brought ?? null,
    detail: arrived === undefined ? UNTRIED : brought === undefined ? UNKNOWN : toSentence(brought),
  }
}

const UNTRIED = 'It was not executed, because it does not fit in one call'
const UNKNOWN = 'Some debts are left, and the least that repays them was not found by execution'

function toSentence(
  brought: readonly {
    readonly token: ReturnType<typeof presentToken>
    readonly amount: ReturnType<typeof presentAmount>
  }[],
): string | null {
  if (brought.length === 0) return null
  const amounts = brought.map(({ token: { id, symbol }, amount: { raw, amount } }) =>
    amount === null ? `${raw} units of ${id}` : `${amount} ${symbol}`,
  )
  return `Bring ${amounts.join(', ').replace(/, ([^,]*)$/, ' and $1')}`
}
