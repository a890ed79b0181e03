import type { Address } from 'viem'
import { decodeTokenText, toTokenDisplayText } from '../../../finance/token/text.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { MarketRead, UnvaluedMarket, WalletMarkets } from '../../lending/market_routes.ts'
import { type Account, type Asset, computeApy, getAccountPrice, type Reserve } from '../math/account.ts'
import { decodeLimits, type RawCategory } from '../math/state.ts'
import type { AaveV3Deployment } from '../table.ts'
import type { RawAccount, RawMarket, RawRead, RawReserve } from './abi.ts'

export interface NamedReserve extends Reserve {
  readonly asset: Address
  /** Empty if the token has none. */
  readonly symbol: string
}

/** A wallet's position in one market with all inputs of its figures, at one block. */
export interface Position extends Account<NamedReserve> {
  readonly market: string
}

/** A wallet's positions on a chain. */
export type WalletPositions = WalletMarkets<Position>

/** The interpreted reading of one chain. */
export type ChainRead = MarketRead<Position>

const BROKEN_REASONS = {
  configuration: "the pool does not return the wallet's configuration",
  supplied: 'a supply token does not answer',
  debt: 'a debt token does not answer',
  category: "the pool does not return the wallet's eMode",
} as const

/** Interprets a reading: names and values each wallet's holdings. Throws `UpstreamError` if it is incomplete. */
export function interpret(
  read: RawRead,
  { deployments, wallets }: { readonly deployments: readonly AaveV3Deployment[]; readonly wallets: readonly Address[] },
): ChainRead {
  const { chainId } = read.block
  const facts = {
    reserves: new Map(read.reserves.map((raw) => [getKey(raw), { reserve: toReserve(raw), price: raw.price ?? 0n }])),
    categories: new Map(read.categories.map((raw) => [getKey(raw), raw])),
  }
  const positions = new Map<number, Position[]>()
  const unanswerable: UnvaluedMarket[] = read.broken.map(({ wallet, market, part }) => ({
    chainId,
    wallet: requireSent(wallets[wallet]),
    market: requireSent(deployments[market]).market,
    reason: BROKEN_REASONS[part],
  }))
  for (const account of read.accounts) {
    const { market } = requireSent(deployments[account.market])
    const { timestampSec } = read.block
    const outcome = valueAccount(account, { ...facts, timestampSec, market: requireSent(read.markets[account.market]) })
    if (typeof outcome === 'string') {
      unanswerable.push({ chainId, wallet: requireSent(wallets[account.wallet]), market, reason: outcome })
    } else positions.set(account.wallet, [...(positions.get(account.wallet) ?? []), { ...outcome, market }])
  }
  const walletPositions = wallets.flatMap((wallet, index) => {
    const held = positions.get(index)
    return held === undefined ? [] : [{ chainId, wallet, positions: held }]
  })
  return { block: read.block, wallets: walletPositions, unanswerable }
}

interface AccountContext {
  readonly timestampSec: bigint
  readonly market: RawMarket
  readonly reserves: ReadonlyMap<string, { readonly reserve: NamedReserve; readonly price: bigint }>
  readonly categories: ReadonlyMap<string, RawCategory>
}

/** The valued account, or the reason why it has no value, in words that follow "because". */
function valueAccount(
  raw: RawAccount,
  { market, reserves, categories, timestampSec }: AccountContext,
): Account<NamedReserve> | string {
  const category =
    raw.category === 0 ? undefined : requireSent(categories.get(getKey({ market: raw.market, id: raw.category })))
  if (category?.answered === false) return "the pool does not return the category of the wallet's eMode"
  const { unit, features, sentinel, lenders } = market
  const account = { terms: { timestampSec, sentinel, lenders }, unit, features, category }
  const assets: Asset<NamedReserve>[] = []
  for (const { reserve: id, ...holding } of raw.holdings) {
    const { reserve, price: ownPrice } = requireSent(reserves.get(getKey({ market: raw.market, id })))
    const price = getAccountPrice(reserve, account, ownPrice)
    const isHeld = holding.supplied + holding.variableDebt + holding.stableDebt > 0n
    if (price === 0n && isHeld) return `reserve ${formatName(reserve)} has no price`
    assets.push({ ...holding, reserve, price })
  }
  if (raw.data === undefined) return 'the pool cannot value the account'
  return { ...account, data: raw.data, assets }
}

function formatName({ symbol, asset }: NamedReserve): string {
  return symbol === '' ? asset : `${symbol} (${asset})`
}

function toReserve(raw: RawReserve): NamedReserve {
  return {
    id: raw.id,
    asset: raw.asset,
    symbol: toTokenDisplayText(decodeTokenText(raw.symbol)),
    ...decodeLimits(raw.configuration),
    supplyApyRay: computeApy(raw.liquidityRateRay),
    borrowApyRay: computeApy(raw.variableBorrowRateRay),
    isolationDebt: raw.isolationDebt,
    withdrawable: raw.withdrawable,
    underBorrowCap: raw.underBorrowCap,
    graceUntilSec: raw.graceUntilSec,
  }
}

function getKey({ market, id }: { readonly market: number; readonly id: number }): string {
  return `${market}:${id}`
}

/** Requires a record that the lens refers to. Throws `UpstreamError` if it is missing. */
function requireSent<T>(fact: T | undefined): T {
  if (fact === undefined) throw new UpstreamError('Cannot decode the lens: a record refers to a missing one')
  return fact
}
