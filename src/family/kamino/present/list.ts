import * as v from 'valibot'
import {
  APY_WORDS,
  apyFigure,
  base58Address,
  chainId,
  formatApy,
  formatHealthFactor,
  formatUsd,
  healthFactorFigure,
  usdFigure,
} from '../../../finance/figure.ts'
import { healthFactor } from '../../../finance/math/lending.ts'
import { memoize } from '../../../lib/memoize.ts'
import { rational } from '../../../lib/number/rational.ts'
import { named, pagination, text, UNSIGNED_INTEGER, withWords } from '../../../lib/text/text_format.ts'
import {
  calculationsSchema,
  presentCalculations,
  presentReducedCalculations,
  presentTotals,
  reducedCalculations,
} from '../../lending/calculations.ts'
import { presentDue } from '../../lending/due.ts'
import { FIGURE_WORDS, positionFiguresWith, walletPositions } from '../../lending/position.ts'
import { presentWithdrawal, withdrawalFields } from '../../lending/withdrawal.ts'
import { SF } from '../math/accrual.ts'
import type { ObligationPosition, Snapshot } from '../math/position.ts'
import { type AssessedObligation, computeSafeBorrow, computeSafeWithdraw } from '../math/risk.ts'
import { computeWithdrawables } from '../math/withdrawal.ts'
import type { FoundBy, MarketObligation } from '../read/accounts/account_cache.ts'
import { SAFE_AMOUNTS, slot_ms } from './obligation.ts'

/** Chain id of Solana in answers. */
const CHAIN_ID = 101

const walletFields = { chain_id: chainId, wallet: withWords('The wallet that was asked about', base58Address) }
const slot = v.optional(
  v.pipe(text(UNSIGNED_INTEGER), v.description('If obligations of one answer were read at different slots')),
)
const marketKnown = v.pipe(
  v.boolean(),
  v.description(
    'False if the market is in no table: any account can make one and set its prices, so that its figures belong in no sum',
  ),
)
const idFields = {
  marketId: withWords('Account of the lending market', base58Address),
  marketKnown,
  obligation_address: withWords('Account of the obligation, which is the position', base58Address),
  slot,
}

const coverage = named(
  'KaminoCoverage',
  'Complete if an endpoint searched all accounts of the program. Else obligations of usual seeds in these markets, of ' +
    "the wallet's lookup table and those asked about before were looked for: others may be missing",
  v.strictObject({
    complete: withWords('True if no obligation of the wallet can be missing', v.boolean()),
    by: withWords(
      "How they were found: by all accounts of the program, or by addresses that follow from the wallet's",
      v.picklist(['program_accounts', 'derived_addresses']),
    ),
    markets: v.optional(withWords('Markets in which addresses were looked for', v.pipe(v.number(), v.integer()))),
  }),
)

const calculations = calculationsSchema('Kamino', SAFE_AMOUNTS)

const supplyAPY = v.pipe(
  apyFigure,
  v.description(`${APY_WORDS}, but with the rewards that the reserve itself adds to its deposits`),
)
/** Success body of the list, without `request_id`: one item of `calculations` for each of `positions`. */
export const listOutput = v.strictObject({
  data: v.array(
    walletPositions(walletFields, {
      position: named(
        'KaminoPosition',
        'An obligation of Kamino',
        v.strictObject({
          ...idFields,
          marketName: withWords('Name of the market, as the market itself tells it', v.string()),
          ...positionFiguresWith({
            family: 'Kamino',
            supplied: { ...withdrawalFields, supplyAPY, slot_ms },
            borrowed: { slot_ms },
          }),
        }),
      ),
      calculations,
    }),
  ),
  coverage,
  pagination,
})

/** Success body of the batch, without `request_id`. */
export const batchOutput = v.strictObject({
  data: v.array(
    walletPositions(walletFields, {
      position: named(
        'ReducedKaminoPosition',
        'The figures of an obligation that a batch has',
        v.strictObject({
          ...idFields,
          healthFactor: healthFactorFigure,
          netWorthUSD: withWords(FIGURE_WORDS.netWorth, usdFigure),
        }),
      ),
      calculations: reducedCalculations,
    }),
  ),
  coverage,
  pagination,
})

/** An obligation with its figures. */
interface ShownObligation extends MarketObligation {
  readonly snapshot: Snapshot
  readonly position: AssessedObligation
}

/** Obligations of a wallet, with their figures. */
interface ShownWallet {
  readonly wallet: string
  readonly obligations: readonly ShownObligation[]
}

/** Options of a wallet's entry in an answer. */
interface ListPresentOptions {
  /** Target health factor in decimal digits. */
  readonly target: string
  /** True if each obligation shows its slot, because they differ. */
  readonly hasSlot: boolean
  /** True for markets of a table. */
  readonly isTrusted: (market: string) => boolean
}

/** Presents the obligations of a wallet and the figures of each. */
export function presentWallet({ wallet, obligations }: ShownWallet, options: ListPresentOptions) {
  const { target } = options
  return {
    chain_id: CHAIN_ID,
    wallet,
    positions: obligations.map((each) => ({
      ...presentIds(each, options),
      marketName: each.snapshot.market.name,
      ...presentSummary(each.position),
      ...presentDue(each.position),
      suppliedAssets: presentSupplies(each.position),
      borrowedAssets: presentBorrows(each.position),
    })),
    calculations: obligations.map(({ position }) => {
      return presentCalculations(position, {
        target,
        healthFactor: presentSummary(position).healthFactor,
        safeBorrow: (aim) => computeSafeBorrow(position, aim),
        safeWithdraw: (aim) => computeSafeWithdraw(position, aim),
      })
    }),
  }
}

/** Presents the obligations of a wallet with the reduced figures of the batch. */
export function presentReduced({ wallet, obligations }: ShownWallet, options: ListPresentOptions) {
  const { target } = options
  return {
    chain_id: CHAIN_ID,
    wallet,
    positions: obligations.map((each) => {
      const { healthFactor, netWorthUSD } = presentSummary(each.position)
      return { ...presentIds(each, options), healthFactor, netWorthUSD }
    }),
    calculations: obligations.map(({ position }) =>
      presentReducedCalculations(position, { target, healthFactor: presentSummary(position).healthFactor }),
    ),
  }
}

/** Presents how complete a list is. */
export function presentCoverage(by: FoundBy): v.InferOutput<typeof coverage> {
  if (by === 'search') return { complete: true, by: 'program_accounts' }
  return { complete: false, by: 'derived_addresses', markets: by.markets }
}

function presentIds({ address, market, snapshot }: ShownObligation, { hasSlot, isTrusted }: ListPresentOptions) {
  const ids = { marketId: market, marketKnown: isTrusted(market), obligation_address: address }
  return hasSlot ? { ...ids, slot: snapshot.slot.toString() } : ids
}

/** Presented once per position, because answers about one slot differ only by the target. */
const presentBorrows = memoize(({ totals, borrows }: AssessedObligation) =>
  borrows.map(({ reserve, value, apyRay, slotMs }) => ({
    symbol: reserve.symbol,
    amountBorrowedUSD: formatUsd(rational(value, totals.perUsd)),
    borrowAPY: formatApy(apyRay),
    slot_ms: slotMs ?? null,
  })),
)

const presentSupplies = memoize((position: AssessedObligation) => {
  const { snapshot, supplies, totals } = position
  const withdrawables = computeWithdrawables(snapshot, { isPriced: true, position })
  return supplies.map(({ address, reserve, amountSf, value, apyRay, slotMs, isCollateral }) => {
    const usd = rational(value, totals.perUsd)
    return {
      symbol: reserve.symbol,
      amountSuppliedUSD: formatUsd(usd),
      supplyAPY: formatApy(apyRay),
      slot_ms: slotMs ?? null,
      isCollateral,
      ...presentWithdrawal({
        amount: amountSf / SF,
        decimals: reserve.decimals,
        withdrawable: withdrawables.get(address),
        value: usd,
      }),
    }
  })
})

const presentSummary = memoize(({ totals }: ObligationPosition) => ({
  healthFactor: formatHealthFactor(healthFactor(totals)),
  ...presentTotals(totals),
}))
