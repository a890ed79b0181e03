import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { OverviewRead, PastWorth } from './read.ts'

/** How a net worth has changed, or why that cannot be told. */
export type Change =
  | { readonly usdE6: bigint }
  /** Chains that keep it from being told. */
  | { readonly unread: readonly { readonly chainId: number; readonly why: string }[] }

/** What the change of a net worth rests on. */
type ChangeInput = Pick<OverviewRead, 'reads' | 'unread' | 'past'> & {
  /** The wallets', each alone, millionths of a US dollar; undefined if it is unknown. */
  readonly netE6: bigint | undefined
  /** The midnight to compare with, days since the epoch. */
  readonly day: number
}

/**
 * Net worth of all wallets now less that at a midnight. Each chain of each wallet has to be known at both.
 *
 * @figure change_24h_usd, change_30d_usd
 * @source definition: net_worth_usd less that of the snapshots of that midnight
 * @proof test/contract/portfolio/overview_test.ts
 */
export function computeChange({ reads, unread, past, netE6, day }: ChangeInput): Change {
  const onSolana = reads.some(({ read }) => read.block.chainId === SOLANA_CHAIN_ID)
  const lacking = [
    ...unread.map(({ chainId }) => ({ chainId, why: 'The chain could not be read' })),
    ...(onSolana ? [{ chainId: SOLANA_CHAIN_ID, why: 'Endpoints of Solana keep no past state' }] : []),
    ...past.flatMap((each) => {
      const why = explainMissing(each, day)
      return why === undefined ? [] : { chainId: each.chainId, why }
    }),
  ]
  if (lacking.length > 0) return { unread: [...new Map(lacking.map((each) => [each.chainId, each])).values()] }
  if (netE6 === undefined) return { unread: [] }
  const before = past.map((each) => toE6(findWorth(each, day)?.netWorthUsd ?? '0'))
  return { usdE6: netE6 - before.reduce((sum, each) => sum + each, 0n) }
}

function findWorth({ worths }: PastWorth, day: number) {
  return typeof worths === 'string' ? undefined : worths.find((worth) => worth.day === day)
}

function explainMissing(past: PastWorth, day: number): string | undefined {
  if (typeof past.worths === 'string') return past.worths
  const worth = findWorth(past, day)
  if (worth === undefined) return 'No endpoint has its state of that midnight, or the chain had not begun'
  return worth.netWorthUsd === null ? 'Its net worth of that midnight is unknown' : undefined
}

/** Converts a figure of a snapshot, a decimal of 6 digits, to millionths. */
function toE6(text: string): bigint {
  return BigInt(text.includes('.') ? text.replace('.', '') : `${text}000000`)
}
