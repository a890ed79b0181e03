import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeTokenText, toTokenDisplayText } from '../../../finance/token/text.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { type Account, type Asset, computeApy, getAccountPrice, type Reserve } from '../math/account.ts'
import { decodeLimits, type RawCategory } from '../math/state.ts'
import type { AaveV3Deployment } from '../table/deployments.ts'
import type { RawAccount, RawMarket, RawRead, RawReserve } from './abi.ts'

export interface NamedReserve extends Reserve {
  readonly asset: Address
  /** Empty if the token has none. */
  readonly symbol: string
}

/** What a wallet has in one market and everything that its figures depend on, at one block. */
export interface Position extends Account<NamedReserve> {
  readonly market: string
}

/** A wallet that has something on a chain: its markets in the order of configuration. */
export interface WalletPositions {
  readonly chainId: number
  readonly wallet: Address
  readonly positions: readonly Position[]
}

/** A market that cannot say what a wallet's position in it is worth. */
export interface UnvaluedMarket {
  readonly chainId: number
  readonly wallet: Address
  readonly market: string
  /** What is wrong, in words that follow "because". */
  readonly because: string
}

/** What a reading of one chain means. A wallet without any position is in neither list. */
export interface ChainRead {
  readonly block: Block
  /** In the order in which the wallets were asked for. */
  readonly wallets: readonly WalletPositions[]
  readonly unanswerable: readonly UnvaluedMarket[]
}

const BROKEN_BECAUSE = {
  configuration: 'the pool does not say what the wallet uses',
  supplied: 'a supply token does not answer',
  debt: 'a debt token does not answer',
  category: 'the pool does not say which eMode the wallet is in',
} as const

/** Interprets a reading: names and prices what each wallet holds. Throws `UpstreamError` if it is incomplete. */
export function interpret(
  read: RawRead,
  { deployments, wallets }: { readonly deployments: readonly AaveV3Deployment[]; readonly wallets: readonly Address[] },
): ChainRead {
  const { chainId } = read.block
  const facts = {
    reserves: new Map(read.reserves.map((raw) => [keyOf(raw), { reserve: reserveFrom(raw), price: raw.price ?? 0n }])),
    categories: new Map(read.categories.map((raw) => [keyOf(raw), raw])),
  }
  const positions = new Map<number, Position[]>()
  const unanswerable: UnvaluedMarket[] = read.broken.map(({ wallet, market, part }) => ({
    chainId,
    wallet: sent(wallets[wallet]),
    market: sent(deployments[market]).market,
    because: BROKEN_BECAUSE[part],
  }))
  for (const account of read.accounts) {
    const { market } = sent(deployments[account.market])
    const outcome = accountFrom(account, { ...facts, market: sent(read.markets[account.market]) })
    if (typeof outcome === 'string') {
      unanswerable.push({ chainId, wallet: sent(wallets[account.wallet]), market, because: outcome })
    } else positions.set(account.wallet, [...(positions.get(account.wallet) ?? []), { ...outcome, market }])
  }
  const found = wallets.flatMap((wallet, index) => {
    const held = positions.get(index)
    return held === undefined ? [] : [{ chainId, wallet, positions: held }]
  })
  return { block: read.block, wallets: found, unanswerable }
}

interface AccountContext {
  readonly market: RawMarket
  readonly reserves: ReadonlyMap<string, { readonly reserve: NamedReserve; readonly price: bigint }>
  readonly categories: ReadonlyMap<string, RawCategory>
}

/** The account, or why it has no value, in words that follow "because". */
function accountFrom(
  raw: RawAccount,
  { market, reserves, categories }: AccountContext,
): Account<NamedReserve> | string {
  const category =
    raw.category === 0 ? undefined : sent(categories.get(keyOf({ market: raw.market, id: raw.category })))
  if (category?.answered === false) return 'the pool does not answer about the eMode that the wallet is in'
  const account = { unit: market.unit, features: market.features, category }
  const assets: Asset<NamedReserve>[] = []
  for (const { reserve: id, ...holding } of raw.holdings) {
    const { reserve, price: own } = sent(reserves.get(keyOf({ market: raw.market, id })))
    const price = getAccountPrice(reserve, account, own)
    const isHeld = holding.supplied + holding.variableDebt + holding.stableDebt > 0n
    if (price === 0n && isHeld) return `reserve ${nameOf(reserve)} has no price`
    assets.push({ ...holding, reserve, price })
  }
  if (raw.data === undefined) return 'the pool cannot value the account'
  return { ...account, data: raw.data, assets }
}

function nameOf({ symbol, asset }: NamedReserve): string {
  return symbol === '' ? asset : `${symbol} (${asset})`
}

function reserveFrom(raw: RawReserve): NamedReserve {
  return {
    id: raw.id,
    asset: raw.asset,
    symbol: toTokenDisplayText(decodeTokenText(raw.symbol)),
    ...decodeLimits(raw.configuration),
    supplyApyRay: computeApy(raw.liquidityRateRay),
    borrowApyRay: computeApy(raw.variableBorrowRateRay),
    isolationDebt: raw.isolationDebt,
    withdrawable: raw.withdrawable,
  }
}

function keyOf({ market, id }: { readonly market: number; readonly id: number }): string {
  return `${market}:${id}`
}

/** Something that the lens refers to. */
function sent<T>(fact: T | undefined): T {
  if (fact === undefined) throw new UpstreamError('Cannot decode the lens: it refers to what it did not send')
  return fact
}
