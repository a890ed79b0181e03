import { formatUsdE6 } from '../../finance/figure.ts'
import { sumE6 } from '../../finance/price/price.ts'
import { type Change, computeChange } from './change.ts'
import type { OverviewRead } from './read.ts'
import type { Summary } from './summarize.ts'

/** An overview's read and its figures. */
export interface Overview extends OverviewRead {
  readonly summary: Summary
}

/** Presents an overview; nothing that was not read is a number. */
export function presentOverview(wallets: readonly string[], overview: Overview) {
  const { reads, unread, summary } = overview
  const { total, chains, protocols } = summary
  const { dayBefore, monthBefore } = overview
  const netE6 = reads.length === 0 ? undefined : total.netE6
  // Snapshots are of each wallet alone.
  const aloneE6 = netE6 === undefined ? undefined : summary.aloneE6
  const [day, month] = [dayBefore, monthBefore].map((each) => computeChange({ ...overview, netE6: aloneE6, day: each }))
  const ifRead = (valueE6: bigint) => (reads.length === 0 ? null : formatUsdE6(valueE6))
  const lacks = [...listUnread(unread), ...listLacks(overview)]
  return {
    wallets: [...wallets],
    complete: lacks.length === 0,
    unread: [...lacks, ...explainChange('change_24h_usd', day), ...explainChange('change_30d_usd', month)],
    worth: {
      net_worth_usd: formatOrNull(netE6),
      assets_usd: ifRead(total.assetsE6),
      debt_usd: ifRead(total.debtE6),
      change_24h_usd: formatChange(day),
      change_30d_usd: formatChange(month),
    },
    earnings: {
      per_day_usd: ifRead(sumE6([summary.perDay])),
      to_collect_usd: ifRead(summary.toCollectE6),
      incomplete: summary.earningsLack.map((each) => ({ ...each })),
    },
    by_protocol: protocols.map((each) => ({
      code: each.code,
      chain_id: each.chainId,
      net_usd: formatOrNull(each.netE6),
    })),
    by_chain: chains.map((each) => ({ chain_id: each.chainId, net_usd: formatOrNull(each.netE6) })),
    to_do: summary.toDo.map(({ chainId, usdE6, subject, ...each }) => ({
      ...each,
      subject: { ...subject },
      chain_id: chainId,
      usd: formatOrNull(usdE6),
    })),
  }
}

/** Chains that could not be read, each once, though several wallets may be on them. */
function listUnread(unread: OverviewRead['unread']) {
  return [...new Map(unread.map((each) => [each.chainId, each])).values()]
    .sort((a, b) => a.chainId - b.chainId)
    .map(({ chainId, because }) => ({ chain_id: chainId, what: 'chain', why: because }))
}

/** What the net worth lacks of the chains that were read. */
function listLacks({ reads, summary: { chains } }: Pick<Overview, 'reads' | 'summary'>) {
  const gaps = chains.flatMap(({ chainId, gaps: found }) =>
    found.map(({ what, why }) => ({ chain_id: chainId, what, why })),
  )
  const searches = reads.flatMap(({ read: { searches = [], block } }) =>
    searches
      .filter(({ complete }) => !complete)
      .map(({ family }) => ({
        chain_id: block.chainId,
        what: `positions of ${family}`,
        why: 'No endpoint searches for them, so that there may be others than those found',
      })),
  )
  return [...gaps, ...searches]
}

function explainChange(what: string, change: Change | undefined) {
  if (change === undefined || 'usdE6' in change) return []
  return change.unread.map(({ chainId, why }) => ({ chain_id: chainId, what, why }))
}

function formatChange(change: Change | undefined): string | null {
  return change !== undefined && 'usdE6' in change ? formatUsdE6(change.usdE6) : null
}

function formatOrNull(valueE6: bigint | undefined): string | null {
  return valueE6 === undefined ? null : formatUsdE6(valueE6)
}
