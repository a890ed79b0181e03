import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { findScopeFeed, readScopeEntries } from '../../../finance/price/scope/layout.ts'
import { computeReservePrice } from '../../../finance/price/scope/price.ts'
import type { KaminoProgram } from '../../../finance/price/table/kamino.ts'
import type { Log } from '../../../lib/log.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { ObligationState } from '../math/holding.ts'
import { type Asset, findElevationGroup, isSoundReserve, type Snapshot } from '../math/position.ts'
import { decodeAccount, listReserves } from './accounts/account_cache.ts'
import type { Obligation, Reserve } from './accounts/layout.ts'

/** An obligation whose figures its accounts cannot give, at least not those that were read; follows "Cannot read: ". */
interface Problem {
  readonly problem: string
}

/** Makes a reader of accounts, all of one slot. */
export function createSnapshots({ program, log }: { readonly program: KaminoProgram; readonly log: Log }) {
  function own({ accounts }: Pick<AccountGroup, 'accounts'>, address: string) {
    const account = accounts.get(address)
    return account?.owner === program.programId ? decodeAccount(account) : undefined
  }

  /** The obligation at an address; undefined if there is none. */
  function obligationIn(group: AccountGroup, address: string): Obligation | undefined {
    return own(group, address)?.obligation
  }

  /** Everything that its figures depend on. */
  function snapshotIn(group: AccountGroup, address: string, obligation: Obligation): Snapshot | Problem {
    const state = stateIn(group, address, obligation)
    if ('problem' in state) return state
    const { reserves, ...rest } = state
    if (findElevationGroup(obligation, state.market) === 'unknown') return { problem: 'its elevation group is unknown' }
    const assets = assetsIn(group, reserves)
    return typeof assets === 'string' ? { problem: assets } : { ...rest, assets }
  }

  /** Everything that its amounts depend on. */
  function stateIn(group: AccountGroup, address: string, obligation: Obligation): ObligationState | Problem {
    const market = own(group, address)?.market
    if (market === undefined || market.referralFeeBps > 10_000n) return { problem: 'its market is missing or broken' }
    if (obligation.borrows.some(({ cumulativeRateSf }) => cumulativeRateSf === 0n)) return { problem: 'it is broken' }
    const reserves = new Map<string, Reserve>()
    for (const each of listReserves(obligation)) {
      const reserve = own(group, each)?.reserve
      if (reserve?.market !== address || !isSoundReserve(reserve)) return { problem: 'a reserve is missing or broken' }
      reserves.set(each, reserve)
    }
    const { slot, timestampSec } = group
    return { slot, timestampSec, obligation, market, reserves }
  }

  function assetsIn(group: AccountGroup, reserves: ReadonlyMap<string, Reserve>): ReadonlyMap<string, Asset> | string {
    const feeds = [...reserves.values()].map(findScopeFeed).filter((feed) => feed !== undefined)
    if (feeds.some((feed) => !group.accounts.has(feed))) return 'its prices were not read'
    const assets = new Map<string, Asset>()
    for (const [address, reserve] of reserves) {
      const asset = assetOf(group, address, reserve)
      if (typeof asset === 'string') return asset
      assets.set(address, asset)
    }
    return assets
  }

  /** Prices of a group's reserves: many obligations share them. */
  const pricesIn = memoize((_: AccountGroup['accounts']) => new Map<string, Asset | string>())

  /** A reserve and its price, or why it has none. */
  function assetOf({ accounts, slot, timestampSec }: AccountGroup, address: string, reserve: Reserve): Asset | string {
    const prices = pricesIn(accounts)
    const before = prices.get(address)
    if (before !== undefined) return before
    const found = computeReservePrice(reserve, {
      entries: readScopeEntries(accounts, reserve, program),
      nowSec: timestampSec,
    })
    if (found.kind === 'cached' && findScopeFeed(reserve) !== undefined) {
      log.warn({ msg: 'Used the cached price of a Kamino reserve', reserve: address, slot })
    }
    const isPriced = found.kind !== 'none'
    const asset = isPriced ? { reserve, price: found.price } : `the price of reserve ${address} ${found.problem}`
    prices.set(address, asset)
    return asset
  }

  return { obligationIn, snapshotIn, stateIn, assetOf }
}

/** Reads accounts, all of one slot. */
export type Snapshots = ReturnType<typeof createSnapshots>
