import type { ScopeOutcome } from '../../../finance/price/scope.ts'
import { type SolanaToken, solanaSpamReason } from '../../../finance/token/solana_tokens.ts'
import type { Withdrawable } from '../../../finance/withdrawable.ts'
import type { AccountHolding, AccountHoldings, HoldingExclusion } from '../../holding.ts'
import type { Asset, ObligationLeg } from '../math/position.ts'
import type { FoundBy, ObligationTarget } from '../read/accounts/account_cache.ts'
import { presentCoverage } from './list.ts'

/** Leg of an obligation, or what a ticket stands for, with the token and price that its portfolio row shows. */
export interface HeldLeg extends Pick<ObligationLeg, 'kind' | 'amount'>, Pick<Asset, 'reserve'> {
  /** Undefined if its mint is missing or broken. */
  readonly token: SolanaToken | undefined
  readonly price: ScopeOutcome
  /** What a withdrawal of it alone pays, if that is less than all. */
  readonly withdrawable: Withdrawable | undefined
}

/** An obligation decoded from accounts of one slot. */
interface ReadObligation {
  readonly target: ObligationTarget
  readonly slot: bigint
  readonly legs: readonly HeldLeg[]
}

/** A ticket of a withdraw queue decoded from accounts of one slot. */
interface ReadTicket extends Omit<ReadObligation, 'target'> {
  /** Its address. */
  readonly ticket: string
}

/**
 * Converts obligations and tickets to rows of a portfolio. Supply in a permissionless market counts as far as the reserve's available
 * liquidity covers it: a self-made market could claim any amount. Debts always count.
 */
export function toHoldings(
  positions: readonly (ReadObligation | ReadTicket)[],
  {
    by,
    areTicketsFound,
    isTrusted,
  }: {
    readonly by: FoundBy
    readonly areTicketsFound: boolean
    readonly isTrusted: (market: string) => boolean
  },
): AccountHoldings {
  const supplied = new Map<string, bigint>()
  const legs = positions.flatMap((each) => each.legs.map((leg) => ({ position: each, slot: each.slot, leg })))
  const getKey = ({ reserve }: HeldLeg) => `${reserve.market}:${reserve.mint}`
  for (const { leg } of legs) {
    if (leg.kind === 'supplied') supplied.set(getKey(leg), (supplied.get(getKey(leg)) ?? 0n) + leg.amount)
  }
  const rows = legs.map(({ position, slot, leg }): AccountHolding => {
    const { kind, amount, token, reserve, withdrawable } = leg
    const exclusion = kind === 'borrowed' ? undefined : findSpam(token)
    const all = supplied.get(getKey(leg)) ?? 0n
    const isUnbacked = kind === 'supplied' && !isTrusted(reserve.market) && all > reserve.availableAmount
    return {
      kind,
      slot,
      token: token ?? { address: reserve.mint, symbol: reserve.symbol, name: '', decimals: reserve.decimals },
      amount,
      position: {
        family: 'kamino',
        market_id: reserve.market,
        ...('ticket' in position
          ? { ticket_address: position.ticket, part: 'queued' }
          : { obligation_address: position.target.address }),
      },
      price: leg.price,
      withdrawable,
      ...(exclusion === undefined ? {} : { refused: exclusion }),
      // Several supplies share what the reserve has, in proportion.
      ...(isUnbacked ? { payable: { amount: (amount * reserve.availableAmount) / all, detail: UNBACKED } } : {}),
    }
  })
  const notRead = [
    ...(by === 'search'
      ? []
      : ['debts in obligations of kamino with unusual seeds or in other markets, and what backs them']),
    ...(areTicketsFound ? [] : ['collateral of kamino that waits in withdraw tickets']),
  ]
  return { rows, ownTokens: [], search: presentCoverage(by), notRead }
}

const UNBACKED = 'The market is in no table, and its reserve has less at hand than the wallet supplied'

function findSpam(token: SolanaToken | undefined): HoldingExclusion | undefined {
  const spam = token && solanaSpamReason(token).reason
  return spam === undefined ? undefined : { reason: 'spam', detail: spam }
}
