import * as v from 'valibot'
import {
  healthFactorFigure,
  healthFactorText,
  ratioFigure,
  ratioText,
  usdFigure,
  usdText,
} from '../../../finance/figure.ts'
import { calculationsSchema, presentCalculated } from '../../../finance/lending/calculations.ts'
import { positionFigures, walletPositions } from '../../../finance/lending/position.ts'
import { healthFactor, netApy, safeBorrowUsd, safeWithdrawUsd } from '../../../finance/math/lending.ts'
import { RAY } from '../../../finance/math/rate.ts'
import { base58Address, chainId } from '../../../finance/schema.ts'
import { parseRational, rational } from '../../../lib/number/rational.ts'
import { onceEach } from '../../../lib/once_each.ts'
import { pagination } from '../../../lib/text/schema.ts'
import { text, UNSIGNED_INTEGER } from '../../../lib/text/text_format.ts'
import type { ObligationPosition } from '../math/position.ts'

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
      position: v.strictObject({ ...named, marketName: v.string(), ...positionFigures }),
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
      calculations: v.strictObject({
        healthFactor: healthFactorFigure,
        netAPY: ratioFigure,
        targetHealthFactor: v.number(),
      }),
    }),
  ),
  coverage,
  pagination,
})

/** An obligation that can be shown. */
export interface ShownObligation {
  readonly address: string
  readonly market: string
  readonly snapshot: { readonly slot: bigint; readonly market: { readonly name: string } }
  readonly position: ObligationPosition
}

/** A wallet's obligations that can be shown. */
interface ShownWallet {
  readonly wallet: string
  readonly obligations: readonly ShownObligation[]
}

/** How a wallet is shown. */
interface Showing {
  /** A health factor in decimal digits. */
  readonly target: string
  /** True if each obligation says its slot. */
  readonly slot: boolean
}

/** A wallet's obligations and the figures of each. */
export function presentWallet({ wallet, obligations }: ShownWallet, { target, slot }: Showing) {
  return {
    chain_id: CHAIN_ID,
    wallet,
    positions: obligations.map((each) => ({
      ...presentPlace(each, slot),
      marketName: each.snapshot.market.name,
      ...presentPosition(each.position),
    })),
    calculations: obligations.map(({ position }) => presentCalculations(position, target)),
  }
}

/** The same, with only the figures that the batch answers. */
export function presentReduced({ wallet, obligations }: ShownWallet, { target, slot }: Showing) {
  return {
    chain_id: CHAIN_ID,
    wallet,
    positions: obligations.map((each) => {
      const { healthFactor, netWorthUSD } = presentTotals(each.position)
      return { ...presentPlace(each, slot), healthFactor, netWorthUSD }
    }),
    calculations: obligations.map(({ position }) => {
      const { totals, ...legs } = position
      const { healthFactor } = presentTotals(position)
      return { healthFactor, netAPY: ratioText(netApy(totals, legs)), targetHealthFactor: Number(target) }
    }),
  }
}

/** How complete a list is. */
export function presentCoverage(by: 'search' | { readonly markets: number }): v.InferOutput<typeof coverage> {
  if (by === 'search') return { complete: true, by: 'program_accounts' }
  return { complete: false, by: 'derived_addresses', markets: by.markets }
}

function presentPlace({ address, market, snapshot }: ShownObligation, withSlot: boolean) {
  const place = { marketId: market, obligation_address: address }
  return withSlot ? { ...place, slot: snapshot.slot.toString() } : place
}

/** Obligations of one slot serve many answers, which differ only by the target. */
const presentPosition = onceEach((position: ObligationPosition) => {
  const { totals, supplies, borrows } = position
  const usd = (value: bigint) => usdText(rational(value, totals.perUsd))
  const apy = (apyRay: bigint) => ratioText(rational(apyRay, RAY))
  return {
    ...presentTotals(position),
    suppliedAssets: supplies.map(({ reserve, value, apyRay, isCollateral }) => ({
      symbol: reserve.symbol,
      amountSuppliedUSD: usd(value),
      supplyAPY: apy(apyRay),
      isCollateral,
    })),
    borrowedAssets: borrows.map(({ reserve, value, apyRay }) => ({
      symbol: reserve.symbol,
      amountBorrowedUSD: usd(value),
      borrowAPY: apy(apyRay),
    })),
  }
})

const presentTotals = onceEach(({ totals }: ObligationPosition) => {
  const usd = (value: bigint) => usdText(rational(value, totals.perUsd))
  return {
    healthFactor: healthFactorText(healthFactor(totals)),
    totalCollateralUSD: usd(totals.collateral),
    totalDebtUSD: usd(totals.debt),
    netWorthUSD: usd(totals.supplied - totals.debt),
  }
})

function presentCalculations(position: ObligationPosition, targetText: string) {
  const { totals } = position
  const target = parseRational(targetText)
  if (target === undefined) throw new RangeError('Cannot use a target health factor that is not a decimal number')
  const { interest, ratios } = presentCommon(position)
  return {
    targetHealthFactor: Number(targetText),
    healthFactor: presentTotals(position).healthFactor,
    ...interest,
    safeBorrowAmountUSD: usdText(safeBorrowUsd(totals, target)),
    safeWithdrawAmountUSD: usdText(safeWithdrawUsd(totals, target)),
    ...ratios,
  }
}

/** What does not depend on the target. */
const presentCommon = onceEach(presentCalculated)
