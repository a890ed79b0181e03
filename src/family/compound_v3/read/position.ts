import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { computeUsdPrice } from '../../../finance/price/price.ts'
import { toToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { MarketRead, WalletMarkets } from '../../lending/market_routes.ts'
import type { Account, AccountToken, Collateral, Reward } from '../math/account.ts'
import { ACCRUAL_SCALE, accrue, computeReward, toPresentValue } from '../math/market.ts'
import type { MarketTotals, RawAccount, RawCollateral, RawMarket } from '../math/state.ts'
import type { CompoundV3Market } from '../table.ts'
import type { RawRead } from './abi.ts'

/** Actions that a market's flags pause, by their bits. */
const PAUSED = { withdraw: 4, absorb: 8 } as const

/** A wallet's position in one market with all inputs of its figures, at one block. */
export interface Position extends Account {
  /** Name of the market. */
  readonly market: string
  readonly deployment: CompoundV3Market
}

/** A wallet's positions on a chain. */
export type WalletPositions = WalletMarkets<Position>

/** The interpreted reading of one chain. */
export type ChainRead = MarketRead<Position>

/** What a reading is about. */
interface Requested {
  readonly chain: FinanceChain
  readonly markets: readonly CompoundV3Market[]
  readonly wallets: readonly Address[]
}

/** A market at the block of the reading. */
interface Accrued {
  readonly raw: RawMarket
  readonly deployment: CompoundV3Market
  readonly totals: MarketTotals
  readonly base: AccountToken
  readonly reward: RawMarket['reward']
  readonly rewardToken: AccountToken | undefined
}

/**
 * Interprets a reading: accrues markets and completes accounts, without those that have nothing but rewards that are paid.
 * Throws `UpstreamError` if the reading contradicts itself.
 */
export function interpret(read: RawRead, { chain, markets, wallets }: Requested): ChainRead {
  const { block } = read
  const toAccountToken = createPricer(chain, block)
  const accrued = new Map(
    read.markets.map((raw): [number, Accrued] => {
      checkMarket(raw, block)
      const { reward } = raw
      return [
        raw.market,
        {
          raw,
          deployment: requireSent(markets[raw.market]),
          totals: accrue(raw.totals, raw.terms, block.timestampSec),
          base: toAccountToken(raw),
          reward,
          rewardToken: typeof reward === 'object' ? toAccountToken(reward) : undefined,
        },
      ]
    }),
  )
  const collaterals = new Map(
    read.collaterals.map((raw): [string, Omit<Collateral, 'amount'>] => {
      if (raw.scale === 0n) throw contradictionError('a collateral has no scale')
      return [`${raw.market}:${raw.index}`, { ...raw, token: toAccountToken(raw) }]
    }),
  )
  const held = new Map<Address, Position[]>()
  for (const raw of read.accounts) {
    const position = completeAccount(raw, requireSent(accrued.get(raw.market)), collaterals)
    const { supplied, owed, reward } = position
    const hasReward = reward === 'unknown' ? raw.trackingAccrued > 0n : reward !== undefined
    if (supplied + owed === 0n && position.collaterals.length === 0 && !hasReward) continue
    const wallet = requireSent(wallets[raw.wallet])
    held.set(wallet, [...(held.get(wallet) ?? []), position])
  }
  return {
    block,
    wallets: [...new Set(wallets)].flatMap((wallet) => {
      const positions = held.get(wallet)
      return positions === undefined ? [] : [{ chainId: block.chainId, wallet, positions }]
    }),
    unanswerable: [],
  }
}

function completeAccount(
  account: RawAccount,
  market: Accrued,
  known: ReadonlyMap<string, Omit<Collateral, 'amount'>>,
): Position {
  const { raw, deployment, totals, base } = market
  const { totalSupplyBase, totalBorrowBase } = raw.totals
  if (account.principal > totalSupplyBase || -account.principal > totalBorrowBase) {
    throw contradictionError('an account has more than the market')
  }
  const collaterals = account.collaterals.map(({ index, amount }): Collateral => {
    return { ...requireSent(known.get(`${raw.market}:${index}`)), amount }
  })
  return {
    market: deployment.market,
    deployment,
    base,
    terms: raw.terms,
    price: raw.price,
    ...toPresentValue(account.principal, totals),
    storedOwed: toPresentValue(account.principal, raw.totals).owed,
    isBorrower: account.principal < 0n,
    collaterals: collaterals.filter(({ amount }) => amount > 0n),
    reward: completeReward(account, market),
    idle: raw.idle,
    isWithdrawPaused: (raw.totals.pauseFlags & PAUSED.withdraw) !== 0,
    isAbsorbPaused: (raw.totals.pauseFlags & PAUSED.absorb) !== 0,
  }
}

function completeReward(
  { claimed, ...account }: RawAccount,
  { raw, totals, reward, rewardToken }: Accrued,
): Reward | 'unknown' | undefined {
  if (reward === undefined) return undefined
  if (reward === 'unknown' || claimed === undefined || rewardToken === undefined) return 'unknown'
  const amount = computeReward({ ...account, claimed }, { totals, terms: raw.terms, reward })
  return amount === 0n ? undefined : { token: rewardToken, amount, funds: reward.funds }
}

/** Creates a function that adds to a token its price at a block. */
function createPricer(chain: FinanceChain, { timestampSec }: Block) {
  return ({ token, usd }: Pick<RawCollateral, 'token' | 'usd'>): AccountToken => ({
    ...toToken(token),
    price: computeUsdPrice(token.address, { chain, answers: usd, blockTimestampSec: timestampSec }),
  })
}

/** Throws for what no market stores, and no formula takes. */
function checkMarket({ totals, terms, price, reward }: RawMarket, { timestampSec }: Block): void {
  // `getPrice` reverts instead; a debt would be worth nothing.
  if (price === 0n) throw contradictionError('the price of its base token is zero')
  if (totals.lastAccrualSec > timestampSec) throw contradictionError('its last accrual is after its block')
  const divisors = [terms.baseScale / ACCRUAL_SCALE, terms.trackingIndexScale]
  if (typeof reward === 'object') divisors.push(reward.rescaleFactor)
  if (divisors.includes(0n)) throw contradictionError('one of its constants is zero')
}

function contradictionError(contradiction: string): UpstreamError {
  return new UpstreamError(`Cannot read a market of Compound V3: ${contradiction}`)
}

function requireSent<T>(value: T | undefined): T {
  if (value === undefined) throw new UpstreamError('Cannot interpret the lens: a record that another needs is missing')
  return value
}
