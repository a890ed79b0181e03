import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { noPriceBecause } from '../../../finance/price/price.ts'
import { type ScopeOutcome, type ScopePrices, toDecimal } from '../../../finance/price/scope.ts'
import type { SolanaToken, SolanaTokens } from '../../../finance/token/solana_tokens.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import { type AccountHoldingsReader, countOmitted, type HoldingsPlan } from '../../holding.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { computeLegs } from '../math/position.ts'
import { assessObligation } from '../math/risk.ts'
import { computeTicket } from '../math/withdrawal.ts'
import { type HeldLeg, toHoldings } from '../present/holdings.ts'
import { outlookObligation } from '../present/outlook.ts'
import {
  type AccountCache,
  type FoundObligations,
  listReserves,
  type ObligationTarget,
  type TicketTarget,
} from './accounts/account_cache.ts'
import type { AnswerCheck } from './accounts/check.ts'
import type { Reserve } from './accounts/layout.ts'
import type { Finder, FoundTickets } from './find.ts'
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
  /** Duration of a slot, milliseconds. */
  readonly slotMs: number
}): AccountHoldingsReader {
  const { finder, cache, snapshots, check, tokens, prices, trustedMarkets, slotMs } = options

  function listAddresses(target: ObligationTarget): readonly string[] {
    return [...cache.listAddresses(target), ...listTokenAddresses(cache.listMints(target), target.market)]
  }

  function listTicketAddresses(target: TicketTarget): readonly string[] {
    const { mint, market = '' } = cache.getReserve(target.reserve) ?? {}
    return [...cache.listTicketAddresses(target), ...listTokenAddresses(mint === undefined ? [] : [mint], market)]
  }

  /** Lists the accounts that describe tokens of a market and price them, beside those of its reserves. */
  function listTokenAddresses(mints: readonly string[], market: string): readonly string[] {
    const priceAccounts = trustedMarkets.has(market) ? [] : mints.flatMap(prices.listPriceAccounts)
    return [...mints.flatMap(tokens.listUnread), ...priceAccounts]
  }

  async function prepare(session: SolanaSession, { targets, tickets, newest }: FoundHoldings): Promise<void> {
    for (let round = 0; round < PREPARE_ROUNDS_MAX; round++) {
      const reserves = tickets.map(({ reserve }) => reserve).filter((each) => cache.getReserve(each) === undefined)
      const missing = [...new Set([...targets.flatMap(cache.listUnread), ...reserves])]
      if (missing.length === 0) return
      const items = missing.map((address) => [address])
      const groups = await session.grouped(items, { minSlot: newest, check, mayDiffer: true })
      for (const { accounts } of new Set(groups)) cache.learn(accounts)
    }
  }

  function arePricesReady(markets: readonly string[]): boolean {
    return prices.isReady() || markets.every((market) => trustedMarkets.has(market))
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
      const priced = reserve && readToken(group, leg.reserve, reserve)
      if (reserve === undefined || priced === undefined) return 'changed'
      const withdrawable = leg.kind === 'borrowed' ? undefined : withdrawables.get(leg.reserve)
      legs.push({ ...leg, ...priced, reserve, withdrawable })
    }
    return legs
  }

  function outlookOne(group: AccountGroup, target: ObligationTarget): PositionOutlook {
    const { address, market } = target
    const obligation = snapshots.findObligation(group, address)
    const snapshot = obligation && snapshots.toSnapshot(group, market, obligation)
    const position =
      snapshot === undefined || 'problem' in snapshot ? snapshot?.problem : assessObligation(snapshot, { slotMs })
    return outlookObligation(target, { position, isTrusted: trustedMarkets.has(market), nowSec: group.timestampSec })
  }

  /** Reads a ticket's leg: empty if it is gone or paid out, `changed` if accounts are missing. */
  function readTicket(
    group: AccountGroup,
    wallet: string,
    { address }: Pick<TicketTarget, 'address'>,
  ): readonly HeldLeg[] | 'changed' {
    const layoutProblem = snapshots.findLayoutProblem(group, address)
    if (layoutProblem !== undefined) throw new UpstreamError(`Cannot read Kamino ticket ${address}: ${layoutProblem}`)
    const ticket = snapshots.findTicket(group, address)
    if (ticket?.owner !== wallet) return []
    const state = snapshots.toTicketState(group, ticket)
    const priced = state !== undefined && 'reserve' in state && readToken(group, ticket.reserve, state.reserve)
    if (state === undefined || priced === undefined) return 'changed'
    if ('problem' in state) throw new UpstreamError(`Cannot read Kamino ticket ${address}: ${state.problem}`)
    const { amount, withdrawable } = computeTicket(state)
    return amount === 0n || priced === false
      ? []
      : [{ kind: 'supplied', amount, withdrawable, reserve: state.reserve, ...priced }]
  }

  /** Reads a reserve's token and its price; undefined if the token was not read. */
  function readToken(
    group: AccountGroup,
    address: string,
    reserve: Reserve,
  ): Pick<HeldLeg, 'token' | 'price'> | undefined {
    const token = tokens.getToken(group.accounts, reserve.mint)
    if (token === undefined && !group.accounts.has(reserve.mint)) return undefined
    return { token, price: findPrice(group, address, { reserve, token }) }
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

  function createPlan(wallet: string, found: FoundHoldings): HoldingsPlan {
    const { targets, tickets, by, oldest, newest, areTicketsFound } = found
    return {
      oldest,
      newest,
      items: [...targets.map(listAddresses), ...tickets.map(listTicketAddresses)],
      check,
      async read(groups) {
        await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => {
          cache.learn(accounts)
          prices.learn(accounts)
        })
        const results = await mapCooperatively(targets, OBLIGATIONS_IN_TURN, (target, index) => {
          const group = groups[index]
          const legs = group === undefined ? 'changed' : readLegs(group, target)
          return legs === 'changed' || group === undefined ? 'changed' : { target, slot: group.slot, legs, group }
        })
        const queued = tickets.map(({ address }, index) => {
          const group = groups[targets.length + index]
          const legs = group === undefined ? 'changed' : readTicket(group, wallet, { address })
          return legs === 'changed' || group === undefined ? 'changed' : { ticket: address, slot: group.slot, legs }
        })
        if (results.includes('changed') || queued.includes('changed')) return 'changed'
        cache.noteObligations(wallet, targets)
        const positions = [...results, ...queued].filter((each) => each !== 'changed')
        const read = results.filter((each) => each !== 'changed').filter(({ legs }) => legs.length > 0)
        return {
          ...toHoldings(positions, { by, areTicketsFound, isTrusted: (market) => trustedMarkets.has(market) }),
          listOutlooks: () => read.map(({ target, group }) => outlookOne(group, target)),
        }
      },
    }
  }

  return {
    recall(wallet) {
      const targets = cache.getObligations(wallet)?.toSorted(compareAddresses)
      const isComplete =
        targets?.every((target) => cache.listUnread(target).length === 0) &&
        arePricesReady(targets.map(({ market }) => market))
      return targets !== undefined && isComplete ? { items: targets.map(listAddresses), check } : undefined
    },
    async plan(session, { wallet, minSlot, positionsMax }) {
      const [found, searched] = await Promise.all([
        finder.find(session, { wallet, market: undefined }, minSlot),
        finder.searchTickets(session, wallet, minSlot),
      ])
      const holdings = joinFound(found, searched, positionsMax)
      const areObligationsReady = arePricesReady(holdings.targets.map(({ market }) => market))
      await Promise.all([
        prepare(session, holdings),
        areObligationsReady && holdings.tickets.length === 0 ? undefined : prices.prepare(session),
      ])
      const count = found.targets.length + (searched?.tickets.length ?? 0)
      return {
        ...createPlan(wallet, holdings),
        ...countOmitted({ family: 'kamino', kind: 'supplied', count }, positionsMax),
      }
    },
  }
}

/** A wallet's obligations and tickets, the first ones of each in a fixed order. */
interface FoundHoldings extends FoundObligations, Pick<FoundTickets, 'tickets'> {
  /** False if no endpoint searches for tickets. */
  readonly areTicketsFound: boolean
}

function joinFound(found: FoundObligations, searched: FoundTickets | undefined, positionsMax: number): FoundHoldings {
  const { oldest, newest } = found
  const targets = found.targets.toSorted(compareAddresses).slice(0, positionsMax)
  const tickets = (searched?.tickets ?? []).toSorted(compareAddresses).slice(0, positionsMax - targets.length)
  return {
    ...found,
    targets,
    tickets,
    areTicketsFound: searched !== undefined,
    oldest: minBigint(oldest, searched?.slot ?? oldest),
    newest: maxBigint(newest, searched?.slot ?? newest),
  }
}

function compareAddresses(a: Pick<TicketTarget, 'address'>, b: Pick<TicketTarget, 'address'>): number {
  return a.address < b.address ? -1 : 1
}
