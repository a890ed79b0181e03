import type { Address } from 'viem'
import { toToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { MarketRead, UnvaluedMarket, WalletMarkets } from '../../lending/market_routes.ts'
import type { Account, Asset, ValuedAccount } from '../math/account.ts'
import type { RawReserve } from '../math/state.ts'
import type { AaveV4Spoke } from '../table.ts'
import type { RawRead } from './abi.ts'

/** A wallet's account in a spoke, or why it cannot be read, in words that follow "because". */
interface ReadAccount {
  readonly wallet: Address
  readonly spoke: AaveV4Spoke
  readonly account: Account | string
}

/** A wallet's account in a spoke that could be read. */
export interface CompleteAccount extends ReadAccount {
  readonly account: Account
}

/** A wallet's position in one spoke with all inputs of its figures, at one block. */
export interface Position extends ValuedAccount {
  readonly market: string
}

/** A wallet's positions on a chain. */
export type WalletPositions = WalletMarkets<Position>

/** The interpreted reading of one chain. */
export type ChainRead = MarketRead<Position>

/** What a reading is about. */
interface Requested {
  readonly spokes: readonly AaveV4Spoke[]
  readonly wallets: readonly Address[]
}

/** Completes the accounts of a reading with their reserves. Throws `UpstreamError` if it is incomplete. */
export function completeAccounts(read: RawRead, { spokes, wallets }: Requested): ReadAccount[] {
  const reserves = new Map(read.reserves.map((reserve) => [`${reserve.spoke}:${reserve.id}`, reserve]))
  const accounts = read.accounts.map((raw): ReadAccount => {
    const place = { wallet: requireSent(wallets[raw.wallet]), spoke: requireSent(spokes[raw.spoke]) }
    const { revision, liquidation, lends } = requireSent(read.spokes.find(({ spoke }) => spoke === raw.spoke))
    const assets: Asset[] = []
    for (const holding of raw.holdings) {
      const reserve = requireSent(reserves.get(`${raw.spoke}:${holding.reserveId}`))
      const { asset } = reserve
      if (asset === undefined) return { ...place, account: `reserve ${formatName(reserve)} does not tell its terms` }
      if (!holding.hasAnswered) {
        return { ...place, account: `the spoke does not return what the wallet has of ${formatName(reserve)}` }
      }
      assets.push({ ...holding, reserve: { ...reserve, asset } })
    }
    const { riskPremiumBps, data } = raw
    if (riskPremiumBps === undefined)
      return { ...place, account: "the spoke does not return the wallet's risk premium" }
    return { ...place, account: { terms: { revision, liquidation, lends }, riskPremiumBps, data, assets } }
  })
  const broken = read.broken.map(({ wallet, spoke }): ReadAccount => {
    const place = { wallet: requireSent(wallets[wallet]), spoke: requireSent(spokes[spoke]) }
    return { ...place, account: "the spoke does not return the wallet's positions" }
  })
  return [...accounts, ...broken]
}

/** Interprets a reading: values each wallet's accounts. Throws as `completeAccounts`. */
export function interpret(read: RawRead, requested: Requested): ChainRead {
  const { chainId } = read.block
  const positions = new Map<Address, Position[]>()
  const unanswerable: UnvaluedMarket[] = []
  for (const { wallet, spoke, account } of completeAccounts(read, requested)) {
    const valued = typeof account === 'string' ? account : valueAccount(account)
    if (typeof valued === 'string') unanswerable.push({ chainId, wallet, market: spoke.name, reason: valued })
    else positions.set(wallet, [...(positions.get(wallet) ?? []), { ...valued, market: spoke.name }])
  }
  const wallets = [...new Set(requested.wallets)].flatMap((wallet) => {
    const held = positions.get(wallet)
    return held === undefined ? [] : [{ chainId, wallet, positions: held }]
  })
  return { block: read.block, wallets, unanswerable }
}

/** The account with its spoke's own figures; or why it has no value. */
function valueAccount(account: Account): ValuedAccount | string {
  const { data, assets } = account
  const unpriced = assets.find(({ reserve }) => (reserve.price ?? 0n) === 0n)
  if (unpriced !== undefined) return `reserve ${formatName(unpriced.reserve)} has no price`
  return data === undefined ? 'the spoke cannot value the account' : { ...account, data }
}

function formatName({ id, token }: RawReserve): string {
  const { symbol, address } = toToken(token)
  return `${id}, ${symbol === '' ? address : `${symbol} (${address})`}`
}

function requireSent<T>(value: T | undefined): T {
  if (value === undefined) throw new UpstreamError('Cannot interpret the lens: a record that another needs is missing')
  return value
}
