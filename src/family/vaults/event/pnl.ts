import { type UsdPrice, usdValue } from '../../../finance/price/price.ts'
import { addRational, type Rational, subtractRational, toRational, ZERO } from '../../../lib/number/rational.ts'
import type { FlowKind, VaultFlow } from './flow.ts'

/** A flow with the worth of what moved. */
export interface ValuedFlow extends Omit<VaultFlow, 'assets' | 'timestampSec'> {
  readonly timestampSec: number
  /** Smallest units of the asset: by the event, or of shares alone `convertToAssets` at the end of the block. */
  readonly assets: bigint
  /** Price of the asset at the block; or why there is none, words after "because". */
  readonly price: UsdPrice | { readonly because: string }
}

/** An amount of a vault's asset, and its US dollars; undefined where a price is missing. */
export interface ValuedAmount {
  readonly assets: bigint
  readonly usd: Rational | undefined
}

/** What a wallet's shares in a vault have brought. */
export interface VaultPnl extends Readonly<Record<FlowKind, ValuedAmount & { readonly shares: bigint }>> {
  readonly worth: ValuedAmount
  readonly pnl: ValuedAmount
  /** Why US dollars are undefined somewhere: the first missing price, words after "because"; undefined if none is. */
  readonly missing: string | undefined
}

/**
 * Computes the profit and loss of a wallet's shares: their worth, and what was withdrawn and sent, less what was deposited
 * and received. US dollars are those of each flow's block. A penalty stays in the vault, so it is a loss.
 *
 * @figure vaults/pnl_amount, pnl_usd
 * @source definition; amounts of `Deposit` and `Withdraw`, `convertToAssets` of shares that moved alone
 * @proof test/contract/family/vaults/history_test.ts
 */
export function computePnl(flows: readonly ValuedFlow[], options: ValueOptions & { readonly worth: bigint }): VaultPnl {
  const sum = (kind: FlowKind) =>
    sumFlows(
      flows.filter((each) => each.kind === kind),
      options,
    )
  const worth = { assets: options.worth, usd: valueAssets(options.worth, options) }
  const kinds = {
    deposit: sum('deposit'),
    withdraw: sum('withdraw'),
    penalty: sum('penalty'),
    send: sum('send'),
    receive: sum('receive'),
  }
  const got = [worth, kinds.withdraw, kinds.send].reduce(add)
  const paid = [kinds.deposit, kinds.receive].reduce<ValuedAmount>(add, { assets: 0n, usd: ZERO })
  const usd = got.usd && paid.usd && subtractRational(got.usd, paid.usd)
  const amounts = [...flows, { assets: options.worth, price: options.price }].filter(({ assets }) => assets > 0n)
  const [missing] = amounts.flatMap(({ price }) => ('because' in price ? price.because : []))
  return { ...kinds, worth, pnl: { assets: got.assets - paid.assets, usd }, missing }
}

interface ValueOptions {
  readonly decimals: number
  /** Price of the asset at the block of the answer. */
  readonly price: ValuedFlow['price']
}

/** Values an amount of an asset, US dollars; undefined without a price. */
export function valueAssets(assets: bigint, { decimals, price }: ValueOptions): Rational | undefined {
  if (assets === 0n) return ZERO
  if ('because' in price) return undefined
  return toRational(usdValue(assets, { decimals, price }))
}

function sumFlows(
  flows: readonly ValuedFlow[],
  { decimals }: ValueOptions,
): ValuedAmount & { readonly shares: bigint } {
  const amounts = flows.map(({ assets, price }) => ({ assets, usd: valueAssets(assets, { decimals, price }) }))
  const total = amounts.reduce<ValuedAmount>(add, { assets: 0n, usd: ZERO })
  return { ...total, shares: flows.reduce((sum, { shares }) => sum + shares, 0n) }
}

function add(a: ValuedAmount, b: ValuedAmount): ValuedAmount {
  return { assets: a.assets + b.assets, usd: a.usd && b.usd && addRational(a.usd, b.usd) }
}
