import { isNegative, sumDollars } from '../../lib/decimal.ts'
import type { PortfolioBalance, ToDo, WalletOverview } from '../../lib/shapes.ts'

type Balance = PortfolioBalance['data']
type Overview = WalletOverview['data']

/** What the first screen tells, of now or of a past moment. Figures are US dollars; null where nothing was read. */
export interface Worth {
  readonly net: string | null
  readonly assets: string | null
  readonly debt: string | null
  /** What the net worth lacks, each with the chain's id. */
  readonly lacks: readonly { readonly chain_id: number; readonly what: string; readonly why: string }[]
  /** Figures of now alone. */
  readonly now:
    | (Pick<Overview, 'earnings' | 'by_chain' | 'by_protocol'> & {
        readonly changes: readonly Change[]
        readonly toDo: readonly ToDo[]
      })
    | undefined
}

interface Change {
  readonly name: string
  readonly usd: string | null
  /** Ratio to the net worth before; undefined if there is none. */
  readonly ratio: string | undefined
  /** Why it is not known. */
  readonly why: string | undefined
}

const CHANGES = [
  ['24 h', 'change_24h_usd'],
  ['30 days', 'change_30d_usd'],
] as const

/** Converts the answer of an overview. */
export function toWorth({ worth, unread, earnings, by_chain, by_protocol, to_do }: Overview): Worth {
  const { net_worth_usd: net, assets_usd: assets, debt_usd: debt } = worth
  const changes = CHANGES.map(([name, figure]) => ({
    name,
    usd: worth[figure],
    ratio: computeRatio(net, worth[figure]),
    why: unread.find(({ what }) => what === figure)?.why,
  }))
  const lacks = unread.filter(({ what }) => !CHANGES.some(([, figure]) => figure === what))
  return { net, assets, debt, lacks, now: { earnings, by_chain, by_protocol, changes, toDo: to_do } }
}

function computeRatio(net: string | null, change: string | null) {
  const before = Number(net) - Number(change)
  return net === null || change === null || before <= 0 ? undefined : (Number(change) / before).toFixed(6)
}

/**
 * Sums balances of a past moment, one a wallet. `unread`: wallets without one. The sum is null if no chain of any was read,
 * or if a debt has no price.
 */
export function sumBalances(balances: readonly Balance[], unread: number): Worth {
  const read = balances.filter(({ by_chain: chains }) => chains.length > 0)
  const nets = read.map(({ net_worth_usd: net }) => net)
  const chains = read.flatMap(({ by_chain }) => by_chain)
  const sum = (figure: 'assets_usd' | 'debt_usd') =>
    chains.length === 0 ? null : sumDollars(chains.map((each) => each[figure]))
  const lostChains = balances.flatMap(({ unread: lost }) =>
    lost.map(({ chain_id, because }) => ({ chain_id, what: 'chain', why: because })),
  )
  const gaps = balances.flatMap(({ incomplete }) => incomplete.map(({ what, why }) => ({ chain_id: 0, what, why })))
  const wallets = unread === 0 ? [] : [{ chain_id: 0, what: `wallets: ${unread}`, why: 'They could not be read' }]
  return {
    net: read.length === 0 || nets.some((net) => net === null) ? null : sumDollars(nets.map(String)),
    assets: sum('assets_usd'),
    debt: sum('debt_usd'),
    lacks: [...new Map([...lostChains, ...gaps, ...wallets].map((each) => [JSON.stringify(each), each])).values()],
    now: undefined,
  }
}

/** What is at risk, most urgent first: each kind of thing to do, how many there are, and what they are worth. */
export function countRisks(toDo: readonly ToDo[]) {
  const kinds = [...new Set(toDo.map(({ kind }) => kind))]
  return kinds.map((kind) => {
    const some = toDo.filter((each) => each.kind === kind)
    const usds = some.flatMap(({ usd }) => usd ?? [])
    return { kind, count: some.length, usd: usds.length === some.length ? sumDollars(usds) : undefined }
  })
}

/** Interest and fees of a day as a yearly ratio of the net worth; undefined if that is not above zero. */
export function computeYearlyRatio(perDay: string | null, net: string | null) {
  if (perDay === null || net === null || isNegative(net) || Number(net) === 0) return undefined
  return ((Number(perDay) * 365) / Number(net)).toFixed(6)
}
