import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { noPriceBecause } from '../../../finance/price/price.ts'
import { type ScopeOutcome, type ScopePrices, toDecimal } from '../../../finance/price/scope/prices.ts'
import type { SolanaToken } from '../../../finance/token/solana_token.ts'
import type { SolanaTokens } from '../../../finance/token/solana_tokens.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { AccountHoldingsReader, HoldingsPlan } from '../../holding.ts'
import { computeLegs } from '../math/holding.ts'
import { type HeldLeg, toHoldings } from '../present/holdings.ts'
import { type AccountCache, listReserves, type ObligationTarget } from './accounts/account_cache.ts'
import type { AnswerCheck } from './accounts/check.ts'
import type { Reserve } from './accounts/layout.ts'
import type { Finder } from './find/find.ts'
import type { FoundObligations } from './find/find_result.ts'
import type { Snapshots } from './snapshot.ts'

/** An obligation and then its reserves: nothing else must be known before all can be asked for. */
const FIRSTS_MAX = 2
/** Requests whose accounts are decoded, and obligations that are looked at, in one turn of the event loop. */
const GROUPS_IN_TURN = 1
const OBLIGATIONS_IN_TURN = 20

/**
 * Reads all that a wallet has and owes in obligations as rows of a portfolio. Anybody can make a market and say what its
 * tokens are worth: only markets that are `trusted` price theirs, others' tokens have the prices that they have in a
 * wallet.
 */
export function createHoldingsReader(options: {
  readonly finder: Finder
  readonly known: AccountCache
  readonly snapshots: Snapshots
  readonly check: AnswerCheck
  readonly tokens: SolanaTokens
  readonly prices: ScopePrices
  readonly trusted: ReadonlySet<string>
}): AccountHoldingsReader {
  const { finder, known, snapshots, check, tokens, prices, trusted } = options

  function addressesOf(target: ObligationTarget): readonly string[] {
    const mints = known.mintsOf(target)
    const further = trusted.has(target.market) ? [] : mints.flatMap(prices.addressesFor)
    return [...known.addressesFor(target), ...mints.flatMap(tokens.unread), ...further]
  }

  async function prepare(session: SolanaSession, { targets, newest }: FoundObligations): Promise<void> {
    for (let firsts = 0; firsts < FIRSTS_MAX; firsts++) {
      const missing = [...new Set(targets.flatMap(known.unreadFor))]
      if (missing.length === 0) return
      const each = missing.map((address) => [address])
      const groups = await session.grouped(each, { minSlot: newest, check, mayDiffer: true })
      for (const { accounts } of new Set(groups)) known.learn(accounts)
    }
  }

  function pricesReady(targets: readonly ObligationTarget[]): boolean {
    return prices.isReady() || targets.every(({ market }) => trusted.has(market))
  }

  /** What accounts of one slot say of an obligation, none if it is gone; `changed` if others must be read. */
  function legsIn(group: AccountGroup, { address, wallet, market }: ObligationTarget): readonly HeldLeg[] | 'changed' {
    const obligation = snapshots.obligationIn(group, address)
    if (obligation?.owner !== wallet) return []
    if (obligation.market !== market || listReserves(obligation).some((each) => !group.accounts.has(each))) {
      return 'changed'
    }
    const state = snapshots.stateIn(group, market, obligation)
    if ('problem' in state) throw new UpstreamError(`Cannot read Kamino obligation ${address}: ${state.problem}`)
    const legs: HeldLeg[] = []
    for (const leg of computeLegs(state)) {
      const reserve = state.reserves.get(leg.reserve)
      const token = reserve && tokens.tokenIn(group.accounts, reserve.mint)
      const isUnread = reserve && token === undefined && !group.accounts.has(reserve.mint)
      if (reserve === undefined || isUnread) return 'changed'
      legs.push({ ...leg, token, reserve, price: priceIn(group, leg.reserve, { reserve, token }) })
    }
    return legs
  }

  function priceIn(
    group: AccountGroup,
    address: string,
    { reserve, token }: { readonly reserve: Reserve; readonly token: SolanaToken | undefined },
  ): ScopeOutcome {
    const { accounts, timestampSec } = group
    if (trusted.has(reserve.market)) {
      const asset = snapshots.assetOf(group, address, reserve)
      if (typeof asset === 'string') return noPriceBecause(asset)
      return { kind: 'price', price: { ...toDecimal(asset.price), source: 'scope' } }
    }
    const mint = { address: reserve.mint, isScaled: token?.mint.isScaled === true }
    return prices.priceIn(accounts, mint, timestampSec)
  }

  function planOf(wallet: string, { targets, by, oldest, newest }: FoundObligations): HoldingsPlan {
    return {
      positions: targets.length,
      oldest,
      newest,
      items: targets.map(addressesOf),
      check,
      async read(groups) {
        await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => {
          known.learn(accounts)
          prices.learn(accounts)
        })
        const read = await mapCooperatively(targets, OBLIGATIONS_IN_TURN, (target, index) => {
          const group = groups[index]
          const legs = group === undefined ? 'changed' : legsIn(group, target)
          return legs === 'changed' || group === undefined ? 'changed' : { target, slot: group.slot, legs }
        })
        if (read.includes('changed')) return 'changed'
        known.noteObligations(wallet, targets)
        const obligations = read.filter((each) => each !== 'changed')
        return toHoldings(obligations, { by, isTrusted: (market) => trusted.has(market) })
      },
    }
  }

  return {
    recall(wallet) {
      const targets = known.obligationsOf(wallet)?.toSorted(inOrder)
      const isKnown = targets?.every((target) => known.unreadFor(target).length === 0) && pricesReady(targets)
      return targets !== undefined && isKnown ? { items: targets.map(addressesOf), check } : undefined
    },
    async plan(session, { wallet, minSlot }) {
      const found = await finder.find(session, { wallet, market: undefined }, minSlot)
      const targets = found.targets.toSorted(inOrder)
      await Promise.all([prepare(session, found), pricesReady(targets) ? undefined : prices.prepare(session)])
      return planOf(wallet, { ...found, targets })
    },
  }
}

function inOrder(a: ObligationTarget, b: ObligationTarget): number {
  return a.address < b.address ? -1 : 1
}
