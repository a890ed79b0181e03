import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { noPriceBecause } from '../../../finance/price/price.ts'
import { type ScopeOutcome, type ScopePrices, toDecimal } from '../../../finance/price/scope/prices.ts'
import type { SolanaToken } from '../../../finance/token/solana_token.ts'
import type { SolanaTokens } from '../../../finance/token/solana_tokens.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { type AccountHoldingsReader, countOmitted, type HoldingsPlan } from '../../holding.ts'
import { computeLegs } from '../math/holding.ts'
import { type HeldLeg, toHoldings } from '../present/holdings.ts'
import { type AccountCache, listReserves, type ObligationTarget } from './accounts/account_cache.ts'
import type { AnswerCheck } from './accounts/check.ts'
import type { Reserve } from './accounts/layout.ts'
import type { Finder } from './find/find.ts'
import type { FoundObligations } from './find/find_result.ts'
import type { Snapshots } from './snapshot.ts'

/** Rounds of reads before all accounts are known: first an obligation, then its reserves. */
const PREPARE_ROUNDS_MAX = 2
/** Requests whose accounts are decoded, and obligations that are interpreted, in one turn of the event loop. */
const GROUPS_IN_TURN = 1
const OBLIGATIONS_IN_TURN = 20

/**
 * Creates a reader of a wallet's supplies and debts as rows of a portfolio. Markets are permissionless and set their
 * own prices, so only `trustedMarkets` price their tokens; tokens of other markets have the prices that they have in a
 * wallet.
 */
export function createHoldingsReader(options: {
  readonly finder: Finder
  readonly cache: AccountCache
  readonly snapshots: Snapshots
  readonly check: AnswerCheck
  readonly tokens: SolanaTokens
  readonly prices: ScopePrices
  readonly trustedMarkets: ReadonlySet<string>
}): AccountHoldingsReader {
  const { finder, cache, snapshots, check, tokens, prices, trustedMarkets } = options

  function listAddresses(target: ObligationTarget): readonly string[] {
    const mints = cache.listMints(target)
    const priceAccounts = trustedMarkets.has(target.market) ? [] : mints.flatMap(prices.listPriceAccounts)
    return [...cache.listAddresses(target), ...mints.flatMap(tokens.listUnread), ...priceAccounts]
  }

  async function prepare(session: SolanaSession, { targets, newest }: FoundObligations): Promise<void> {
    for (let round = 0; round < PREPARE_ROUNDS_MAX; round++) {
      const missing = [...new Set(targets.flatMap(cache.listUnread))]
      if (missing.length === 0) return
      const items = missing.map((address) => [address])
      const groups = await session.grouped(items, { minSlot: newest, check, mayDiffer: true })
      for (const { accounts } of new Set(groups)) cache.learn(accounts)
    }
  }

  function arePricesReady(targets: readonly ObligationTarget[]): boolean {
    return prices.isReady() || targets.every(({ market }) => trustedMarkets.has(market))
  }

  /** Reads an obligation's legs from accounts of one slot: empty if it is gone, `changed` if accounts are missing. */
  function readLegs(
    group: AccountGroup,
    { address, wallet, market }: ObligationTarget,
  ): readonly HeldLeg[] | 'changed' {
    const layoutProblem = snapshots.findLayoutProblem(group, address)
    if (layoutProblem !== undefined)
      throw new UpstreamError(`Cannot read Kamino obligation ${address}: ${layoutProblem}`)
    const obligation = snapshots.findObligation(group, address)
    if (obligation?.owner !== wallet) return []
    if (obligation.market !== market || listReserves(obligation).some((each) => !group.accounts.has(each))) {
      return 'changed'
    }
    const state = snapshots.toState(group, market, obligation)
    if ('problem' in state) throw new UpstreamError(`Cannot read Kamino obligation ${address}: ${state.problem}`)
    const legs: HeldLeg[] = []
    const withdrawables = snapshots.readWithdrawables(group, state)
    for (const leg of computeLegs(state)) {
      const reserve = state.reserves.get(leg.reserve)
      const token = reserve && tokens.getToken(group.accounts, reserve.mint)
      const isUnread = reserve && token === undefined && !group.accounts.has(reserve.mint)
      if (reserve === undefined || isUnread) return 'changed'
      const withdrawable = leg.kind === 'borrowed' ? undefined : withdrawables.get(leg.reserve)
      legs.push({ ...leg, token, reserve, price: findPrice(group, leg.reserve, { reserve, token }), withdrawable })
    }
    return legs
  }

  function findPrice(
    group: AccountGroup,
    address: string,
    { reserve, token }: { readonly reserve: Reserve; readonly token: SolanaToken | undefined },
  ): ScopeOutcome {
    const { accounts, timestampSec } = group
    if (trustedMarkets.has(reserve.market)) {
      const asset = snapshots.priceAsset(group, address, reserve)
      if (typeof asset === 'string') return noPriceBecause(asset)
      return { kind: 'price', price: { ...toDecimal(asset.price), source: 'scope' } }
    }
    const mint = { address: reserve.mint, isScaled: token?.mint.isScaled === true }
    return prices.getPrice(accounts, mint, timestampSec)
  }

  function createPlan(wallet: string, { targets, by, oldest, newest }: FoundObligations): HoldingsPlan {
    return {
      oldest,
      newest,
      items: targets.map(listAddresses),
      check,
      async read(groups) {
        await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => {
          cache.learn(accounts)
          prices.learn(accounts)
        })
        const results = await mapCooperatively(targets, OBLIGATIONS_IN_TURN, (target, index) => {
          const group = groups[index]
          const legs = group === undefined ? 'changed' : readLegs(group, target)
          return legs === 'changed' || group === undefined ? 'changed' : { target, slot: group.slot, legs }
        })
        if (results.includes('changed')) return 'changed'
        cache.noteObligations(wallet, targets)
        const obligations = results.filter((each) => each !== 'changed')
        return toHoldings(obligations, { by, isTrusted: (market) => trustedMarkets.has(market) })
      },
    }
  }

  return {
    recall(wallet) {
      const targets = cache.getObligations(wallet)?.toSorted(compareAddresses)
      const isComplete = targets?.every((target) => cache.listUnread(target).length === 0) && arePricesReady(targets)
      return targets !== undefined && isComplete ? { items: targets.map(listAddresses), check } : undefined
    },
    async plan(session, { wallet, minSlot, positionsMax }) {
      const found = await finder.find(session, { wallet, market: undefined }, minSlot)
      const targets = found.targets.toSorted(compareAddresses).slice(0, positionsMax)
      const obligations = { ...found, targets }
      await Promise.all([prepare(session, obligations), arePricesReady(targets) ? undefined : prices.prepare(session)])
      const count = found.targets.length
      return {
        ...createPlan(wallet, obligations),
        ...countOmitted({ family: 'kamino', kind: 'supplied', count }, positionsMax),
      }
    },
  }
}

function compareAddresses(a: ObligationTarget, b: ObligationTarget): number {
  return a.address < b.address ? -1 : 1
}
