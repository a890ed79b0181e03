import { exactSum } from '../../finance/price/price.ts'
import { groupBy } from '../../lib/group_by.ts'
import { formatExact } from '../../lib/number/decimal.ts'
import { POSITIONS_MAX } from './limits.ts'
import { PRICE_REASONS, type Row } from './row.ts'

/** Something that a sum lacks. */
export interface Gap {
  readonly what: string
  /** Whole tokens; null if it is no amount of a token. */
  readonly amount: string | null
  /** A sentence without a full stop. */
  readonly why: string
}

/** Most gaps that a total names; more are only counted. */
const NAMED_MAX = 10

/** Marks under which an asset's price says too little for a complete sum. */
const WEAK_MARKS: readonly string[] = ['one_sided', 'young']

/** Says what a row's value lacks, at most one gap. */
export function findRowGap(row: Row): Gap | undefined {
  const why = explainGap(row)
  return why === undefined ? undefined : { what: 'price', amount: formatAmount(row), why }
}

/**
 * Lists what the sum of rows lacks, debts first; `unsourced`: chains of the rows without any source of prices;
 * `omitted`: positions and token accounts that no row is of.
 *
 * @figure balance/amount, snapshots/amount
 * @source smallest units of the row ÷ 10^decimals of its token
 * @proof test/unit/portfolio/sum/total_test.ts
 */
export function listGaps(
  rows: readonly Row[],
  { unsourced, omitted }: { readonly unsourced: ReadonlySet<number>; readonly omitted: readonly string[] },
): Gap[] {
  const chains = [...new Set(rows.map(({ chainId }) => chainId))].filter((chainId) => unsourced.has(chainId))
  const chainGaps = chains.map((chainId) => ({
    what: `prices on chain ${chainId}`,
    amount: null,
    why: 'No source of prices is configured for the chain',
  }))
  const isPricedChain = ({ chainId }: Row) => !unsourced.has(chainId)
  const debts = rows.filter(({ kind }) => kind === 'borrowed').flatMap(toGap)
  const assets = rows.filter((row) => row.kind !== 'borrowed' && isPricedChain(row)).flatMap(toGap)
  const omittedGaps = omitted.map((what) => ({
    what,
    amount: null,
    why: `A sum has the first ${POSITIONS_MAX} of them on a chain`,
  }))
  const gaps = [...debts, ...listInsolventAccounts(rows), ...chainGaps, ...omittedGaps, ...assets]
  const unnamed = gaps.length - NAMED_MAX
  if (unnamed <= 0) return gaps
  const unnamedGap = { what: `${unnamed} more`, amount: null, why: 'Each row says what it lacks' }
  return [...gaps.slice(0, NAMED_MAX), unnamedGap]
}

/**
 * Names accounts that owe more than they supply: their debts count, because they are real, and what they lack cannot be
 * collected. What is lent in a market of Morpho backs no debt there, and rewards back none anywhere.
 */
function listInsolventAccounts(rows: readonly Row[]): Gap[] {
  const backing = rows.filter(({ kind, position }) => {
    const isBacking = kind === 'supplied' && !UNPLEDGED.includes(position?.['part'] ?? '')
    return position !== null && (kind === 'borrowed' || isBacking)
  })
  return [...groupBy(backing, nameAccount)].flatMap(([name, account]): Gap[] => {
    const values = account.flatMap(({ verdict, rest }) =>
      verdict.counted && rest === undefined ? [verdict.value] : [],
    )
    // Of an account that is not counted whole, nothing is known.
    if (values.length < account.length || exactSum(values).units >= 0n) return []
    const why = 'It owes more than it supplies, so that the rest of its debt cannot be collected'
    return [{ what: `collateral of ${name}`, amount: null, why }]
  })
}

/** Parts of positions that back no debt. */
const UNPLEDGED = ['lent', 'rewards']

function nameAccount({ chainId, position }: Row): string {
  const names = ['family', 'market_id', 'obligation_address'].map((field) => position?.[field])
  return [...names, `on chain ${chainId}`].filter((each) => each !== undefined).join(' ')
}

/** True if a row is not counted because its price is missing. */
export function isUnpriced({ verdict }: Row): boolean {
  return !verdict.counted && PRICE_REASONS.includes(verdict.reason)
}

function toGap(row: Row): Gap[] {
  const why = explainGap(row)
  if (why === undefined) return []
  const { kind, chainId, token } = row
  const what = `${kind === 'borrowed' ? 'debt in' : 'value of'} ${token.symbol} (${token.address}) on chain ${chainId}`
  return [{ what, amount: formatAmount(row), why }]
}

function explainGap(row: Row): string | undefined {
  const { kind, verdict, marks } = row
  if (!verdict.counted) return isUnpriced(row) ? verdict.detail : undefined
  const told = kind === 'borrowed' ? marks : marks.filter((mark) => WEAK_MARKS.includes(mark))
  return told.length === 0 ? undefined : `Its price by pools is marked ${told.join(', ')}`
}

function formatAmount({ amount, token: { decimals } }: Row): string | null {
  return decimals === undefined ? null : formatExact(amount, decimals)
}
