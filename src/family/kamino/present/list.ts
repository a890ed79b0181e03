import * as v from 'valibot'
import { formatApy, formatHealthFactor, formatUsd, healthFactorFigure, usdFigure } from '../../../finance/figure.ts'
import {
  calculationsSchema,
  presentCalculations,
  presentReducedCalculations,
  presentTotals,
  reducedCalculations,
} from '../../../finance/lending/calculations.ts'
import { positionFiguresWith, walletPositions } from '../../../finance/lending/position.ts'
import { healthFactor, safeBorrowUsd, safeWithdrawUsd } from '../../../finance/math/lending.ts'
import { base58Address, chainId } from '../../../finance/schema.ts'
import { memoize } from '../../../lib/memoize.ts'
import { rational } from '../../../lib/number/rational.ts'
import { pagination } from '../../../lib/text/schema.ts'
import { text, UNSIGNED_INTEGER } from '../../../lib/text/text_format.ts'
import type { ObligationPosition, Snapshot } from '../math/position.ts'
import type { MarketObligation } from '../read/accounts/account_cache.ts'
import type { FoundBy } from '../read/find/find_result.ts'

/** The number that stands for Solana among chain ids. */
const CHAIN_ID = 101

const place = { chain_id: chainId, wallet: base58Address }
const slot = v.optional(
  v.pipe(text(UNSIGNED_INTEGER), v.description('If obligations of one answer were read at different slots')),
)
const named = { marketId: base58Address, obligation_address: base58Address, slot }

const coverage = v.pipe(
  v.strictObject({
    complete: v.boolean(),
    by: v.picklist(['program_accounts', 'derived_addresses']),
    markets: v.optional(v.pipe(v.number(), v.integer())),
  }),
  v.description(
    'Complete if an endpoint searched all accounts of the program. Else obligations of usual seeds in these markets, of ' +
      "the wallet's lookup table and those asked about before were looked for: others may be missing",
  ),
)

const calculations = calculationsSchema({
  safeBorrow: 'What can still be borrowed, at borrow factor 1, before the health factor falls to the target',
  safeWithdraw: 'Collateral that can be taken out, in proportion, before the health factor falls to the target',
})

/** Success body of the list, without `request_id`: one item of `calculations` for each of `positions`. */
export const listOutput = v.strictObject({
  data: v.array(
    walletPositions(place, {
      position: v.strictObject({
        ...named,
        marketName: v.string(),
        ...positionFiguresWith({ supplied: {}, borrowed: {} }),
      }),
      calculations,
    }),
  ),
  coverage,
  pagination,
})

/** Success body of the batch, without `request_id`. */
export const batchOutput = v.strictObject({
  data: v.array(
    walletPositions(place, {
      position: v.strictObject({ ...named, healthFactor: healthFactorFigure, netWorthUSD: usdFigure }),
      calculations: reducedCalculations,
    }),
  ),
  coverage,
  pagination,
})

/** An obligation that can be shown. */
interface ShownObligation extends MarketObligation {
  readonly snapshot: Pick<Snapshot, 'slot' | 'market'>
  readonly position: ObligationPosition
}

/** A wallet's obligations that can be shown. */
interface ShownWallet {
  readonly wallet: string
  readonly obligations: readonly ShownObligation[]
}

/** How a wallet is shown. */
interface ListPresentOptions {
  /** A health factor in decimal digits. */
  readonly target: string
  /** True if each obligation says its slot. */
  readonly slot: boolean
}

/** A wallet's obligations and the figures of each. */
export function presentWallet({ wallet, obligations }: ShownWallet, { target, slot }: ListPresentOptions) {
  return {
    chain_id: CHAIN_ID,
    wallet,
    positions: obligations.map((each) => ({
      ...presentPlace(each, slot),
      marketName: each.snapshot.market.name,
      ...presentPosition(each.position),
    })),
    calculations: obligations.map(({ position }) => {
      const { totals } = position
      return presentCalculations(position, {
        target,
        healthFactor: presentHeld(position).healthFactor,
        safeBorrow: (aim) => safeBorrowUsd(totals, aim),
        safeWithdraw: (aim) => safeWithdrawUsd(totals, aim),
      })
    }),
  }
}

/** The same, with only the figures that the batch answers. */
export function presentReduced({ wallet, obligations }: ShownWallet, { target, slot }: ListPresentOptions) {
  return {
    chain_id: CHAIN_ID,
    wallet,
    positions: obligations.map((each) => {
      const { healthFactor, netWorthUSD } = presentHeld(each.position)
      return { ...presentPlace(each, slot), healthFactor, netWorthUSD }
    }),
    calculations: obligations.map(({ position }) =>
      presentReducedCalculations(position, { target, healthFactor: presentHeld(position).healthFactor }),
    ),
  }
}

/** How complete a list is. */
export function presentCoverage(by: FoundBy): v.InferOutput<typeof coverage> {
  if (by === 'search') return { complete: true, by: 'program_accounts' }
  return { complete: false, by: 'derived_addresses', markets: by.markets }
}

function presentPlace({ address, market, snapshot }: ShownObligation, withSlot: boolean) {
  const place = { marketId: market, obligation_address: address }
  return withSlot ? { ...place, slot: snapshot.slot.toString() } : place
}

/** Obligations of one slot serve many answers, which differ only by the target. */
const presentPosition = memoize((position: ObligationPosition) => {
  const { totals, supplies, borrows } = position
  const usd = (value: bigint) => formatUsd(rational(value, totals.perUsd))
  return {
    ...presentHeld(position),
    suppliedAssets: supplies.map(({ reserve, value, apyRay, isCollateral }) => ({
      symbol: reserve.symbol,
      amountSuppliedUSD: usd(value),
      supplyAPY: formatApy(apyRay),
      isCollateral,
    })),
    borrowedAssets: borrows.map(({ reserve, value, apyRay }) => ({
      symbol: reserve.symbol,
      amountBorrowedUSD: usd(value),
      borrowAPY: formatApy(apyRay),
    })),
  }
})

const presentHeld = memoize(({ totals }: ObligationPosition) => ({
  healthFactor: formatHealthFactor(healthFactor(totals)),
  ...presentTotals(totals),
}))
