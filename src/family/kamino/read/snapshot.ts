import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { computeReservePrice, findScopeFeed, isSteadyPrice, readScopeEntries } from '../../../finance/price/scope.ts'
import type { KaminoProgram } from '../../../finance/price/table/kamino.ts'
import type { Withdrawable } from '../../../finance/withdrawable.ts'
import type { Log } from '../../../lib/log.ts'
import { memoize } from '../../../lib/memoize.ts'
import { ONE } from '../../../lib/number/rational.ts'
import {
  type Asset,
  findElevationGroup,
  isSoundReserve,
  type ObligationState,
  type Snapshot,
} from '../math/position.ts'
import { computeWithdrawables, type TicketState } from '../math/withdrawal.ts'
import { decodeAccount, listReserves } from './accounts/account_cache.ts'
import { isExtended, LAYOUT_VERSION, type Obligation, type Reserve, type Ticket } from './accounts/layout.ts'

/** Why figures cannot be computed from the accounts that were read; `problem` follows "Cannot read …: ". */
interface Problem {
  readonly problem: string
}

/** Creates an interpreter of accounts of one slot. */
export function createSnapshots({ program, log }: { readonly program: KaminoProgram; readonly log: Log }) {
  function findProgramAccount({ accounts }: Pick<AccountGroup, 'accounts'>, address: string) {
    const account = accounts.get(address)
    return account?.owner === program.programId ? decodeAccount(account) : undefined
  }

  /** Finds the obligation at an address; undefined if there is none. */
  function findObligation(group: AccountGroup, address: string): Obligation | undefined {
    return findProgramAccount(group, address)?.obligation
  }

  /** Finds the ticket of a withdraw queue at an address; undefined if there is none. */
  function findTicket(group: AccountGroup, address: string): Ticket | undefined {
    return findProgramAccount(group, address)?.ticket
  }

  /** Collects all inputs of a ticket's amount; undefined if not all of its accounts were read. */
  function toTicketState(group: AccountGroup, ticket: Ticket): TicketState | Problem | undefined {
    const { accounts, slot, timestampSec } = group
    if (!accounts.has(ticket.reserve)) return undefined
    const reserve = findProgramAccount(group, ticket.reserve)?.reserve
    if (reserve !== undefined && !accounts.has(reserve.market)) return undefined
    const addresses = [ticket.reserve, ...(reserve === undefined ? [] : [reserve.market])]
    const problem = addresses.map((each) => findLayoutProblem(group, each)).find((each) => each !== undefined)
    if (problem !== undefined) return { problem }
    const market = reserve && findProgramAccount(group, reserve.market)?.market
    if (reserve === undefined || market === undefined || market.referralFeeBps > 10_000n || !isSoundReserve(reserve))
      return { problem: 'its reserve or market is missing or broken' }
    return { slot, timestampSec, ticket, market, reserve }
  }

  /** Collects all inputs of an obligation's figures. */
  function toSnapshot(group: AccountGroup, address: string, obligation: Obligation): Snapshot | Problem {
    const state = toState(group, address, obligation)
    if ('problem' in state) return state
    const { reserves, ...withoutReserves } = state
    if (findElevationGroup(obligation, state.market) === 'unknown') return { problem: 'its elevation group is unknown' }
    const assets = priceAssets(group, reserves)
    return typeof assets === 'string' ? { problem: assets } : { ...withoutReserves, assets }
  }

  /**
   * Computes what a withdrawal of each deposit alone pays, by reserve. Prices that are missing are replaced by any: they
   * decide nothing without a debt.
   */
  function readWithdrawables(
    group: AccountGroup,
    { reserves, ...state }: ObligationState,
  ): ReadonlyMap<string, Withdrawable> {
    if (findElevationGroup(state.obligation, state.market) === 'unknown')
      return new Map([...reserves.keys()].map((address) => [address, UNTOLD]))
    const assets = priceAssets(group, reserves)
    const isPriced = typeof assets !== 'string'
    return computeWithdrawables({ ...state, assets: isPriced ? assets : priceAtOne(reserves) }, { isPriced })
  }

  /** Finds why an account of the program cannot be interpreted; undefined if its layout is known. */
  function findLayoutProblem({ accounts }: Pick<AccountGroup, 'accounts'>, address: string): string | undefined {
    const account = accounts.get(address)
    if (account?.owner !== program.programId) return undefined
    if (isExtended(account.data)) return describeLayout(address, `${account.data.length} bytes`)
    const { market, reserve, obligation } = decodeAccount(account)
    const version = (market ?? reserve)?.layoutVersion
    if (version !== undefined && version !== LAYOUT_VERSION) return describeLayout(address, `version ${version}`)
    const isOrderKnown =
      obligation?.orders.every(
        ({ condition, action }) => condition === 'never' || (condition !== 'unknown' && action !== 'unknown'),
      ) ?? true
    return isOrderKnown ? undefined : describeLayout(address, 'an order of another kind')
  }

  /** Collects all inputs of an obligation's amounts. */
  function toState(group: AccountGroup, address: string, obligation: Obligation): ObligationState | Problem {
    const reserveAddresses = listReserves(obligation)
    const problems = [address, ...reserveAddresses].map((each) => findLayoutProblem(group, each))
    const layoutProblem = problems.find((each) => each !== undefined)
    if (layoutProblem !== undefined) return { problem: layoutProblem }
    const market = findProgramAccount(group, address)?.market
    if (market === undefined || market.referralFeeBps > 10_000n) return { problem: 'its market is missing or broken' }
    if (obligation.borrows.some(({ cumulativeRateSf }) => cumulativeRateSf === 0n)) return { problem: 'it is broken' }
    const reserves = new Map<string, Reserve>()
    for (const each of reserveAddresses) {
      const reserve = findProgramAccount(group, each)?.reserve
      if (reserve?.market !== address || !isSoundReserve(reserve)) return { problem: 'a reserve is missing or broken' }
      reserves.set(each, reserve)
    }
    const { slot, timestampSec } = group
    return { slot, timestampSec, obligation, market, reserves }
  }

  function priceAssets(
    group: AccountGroup,
    reserves: ReadonlyMap<string, Reserve>,
  ): ReadonlyMap<string, Asset> | string {
    const feeds = [...reserves.values()].map(findScopeFeed).filter((feed) => feed !== undefined)
    if (feeds.some((feed) => !group.accounts.has(feed))) return 'its prices were not read'
    const assets = new Map<string, Asset>()
    for (const [address, reserve] of reserves) {
      const asset = priceAsset(group, address, reserve)
      if (typeof asset === 'string') return asset
      assets.set(address, asset)
    }
    return assets
  }

  /** Prices of a group's reserves, memoized because many obligations share them. */
  const getPrices = memoize((_: AccountGroup['accounts']) => new Map<string, Asset | string>())

  /** Prices a reserve; a string says why it has no price. */
  function priceAsset(
    { accounts, slot, timestampSec }: AccountGroup,
    address: string,
    reserve: Reserve,
  ): Asset | string {
    const prices = getPrices(accounts)
    const cached = prices.get(address)
    if (cached !== undefined) return cached
    const reservePrice = computeReservePrice(reserve, {
      entries: readScopeEntries(accounts, reserve, program),
      nowSec: timestampSec,
    })
    if (reservePrice.kind === 'cached' && findScopeFeed(reserve) !== undefined) {
      log.warn({ msg: 'Used the cached price of a Kamino reserve', reserve: address, slot })
    }
    const averages = { entries: readScopeEntries(accounts, reserve, program, 'averageChain'), nowSec: timestampSec }
    const isPriced = reservePrice.kind !== 'none'
    const asset = isPriced
      ? { reserve, price: reservePrice.price, isSteady: isSteadyPrice(reserve, reservePrice, averages) }
      : `the price of reserve ${address} ${reservePrice.problem}`
    prices.set(address, asset)
    return asset
  }

  return {
    findObligation,
    findTicket,
    findLayoutProblem,
    toTicketState,
    toSnapshot,
    toState,
    priceAsset,
    readWithdrawables,
  }
}

/** No rule of an unknown elevation group is known. */
const UNTOLD: Withdrawable = { amount: undefined, limitedBy: 'gate' }

function priceAtOne(reserves: ReadonlyMap<string, Reserve>): ReadonlyMap<string, Asset> {
  return new Map([...reserves].map(([address, reserve]) => [address, { reserve, price: ONE, isSteady: true }]))
}

function describeLayout(address: string, what: string): string {
  return `account ${address} has a layout of Kamino Lend that this release does not know (${what}): update walletscope`
}

/** Interprets accounts of one slot. */
export type Snapshots = ReturnType<typeof createSnapshots>
