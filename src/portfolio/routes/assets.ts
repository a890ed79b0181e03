import * as v from 'valibot'
import { getEarliestExpiryMs, isNow, toAsOf } from '../../family/moment.ts'
import { sumE6 } from '../../finance/price/price.ts'
import { choice, flag, limit, momentRule, page } from '../../http/request/input.ts'
import { createPagination, slicePage } from '../../http/route/page.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { presentRow } from '../present.ts'
import { assetsOutput } from '../schema.ts'
import { ROW_KINDS, type Row } from '../sum/row.ts'
import { addCurrency, currencyParameter, readRate } from './currency.ts'
import { momentParameters, tokensRule, walletRule } from './input.ts'
import { type PortfolioOptions, readRows } from './rows.ts'

/** Defines the route that lists a wallet's rows, counted or not. */
export function assetsRoute(options: PortfolioOptions): Route {
  const input = v.pipe(
    v.object({
      ...momentParameters(options.chainIds),
      kind: v.optional(v.pipe(choice(ROW_KINDS), v.description('Rows of this kind only.'))),
      counted: v.optional(v.pipe(flag, v.description('Only rows that are counted, or only those that are not.'))),
      ...currencyParameter,
      page,
      limit,
    }),
    walletRule(),
    momentRule(),
    tokensRule(options.nativeDoubles),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/portfolio/assets',
    operation: 'portfolio_assets',
    tool: { name: 'list_assets_and_debts', title: 'Assets and debts of a wallet' },
    summary: 'Lists all that a wallet has and owes, with prices and their sources, and why a row is not counted.',
    description:
      'By `value_usd`, largest first; rows that are not counted have none and come last, spam at the very end. Pages ' +
      'belong together at one block: pass the block of `X-As-Of` as `at_block`. What one `collect` of a position pays of a ' +
      'token is one row for `limit`, `total` and the price, though it may be shown as `fees` and `withdrawn`.',
    input,
    output: assetsOutput,
    errors: [502, 503],
    charge: { credits: 2, per: 'row on the page', terms: 'rows of spam and dust cost nothing' },
    async read(query, { work }) {
      const { kind, counted, page, limit } = query
      const { rows, divide, reads, unread } = await readRows(options, query, work)
      const matchingRows = rows.filter(
        (row) => (kind ?? row.kind) === row.kind && (counted ?? row.verdict.counted) === row.verdict.counted,
      )
      // Pages are of whole rows, because parts are known only once their history is read, maybe between two pages.
      const whole = slicePage(sortRows(matchingRows), { page, limit })
      const [items, rate] = await Promise.all([divide(whole), readRate(options.rates, query, { reads, unread }, work)])
      return { reads, unread, total: matchingRows.length, whole, items, rate }
    },
    count: ({ whole }) => whole.filter((row) => !isFree(row)).length,
    untilMs: ({ reads, unread }, query) => (isNow(query) && unread.length === 0 ? getEarliestExpiryMs(reads) : 0),
    present: ({ items, total, reads, rate }, { page, limit }, { url }) =>
      addCurrency(
        {
          data: items.map(presentRow),
          pagination: createPagination({ page, limit, total, url }),
          asOf: toAsOf(reads),
        },
        rate,
      ),
  })
}

function isFree({ verdict }: Row): boolean {
  return !verdict.counted && ['spam', 'dust'].includes(verdict.reason)
}

/** Digits of the largest token id. */
const ID_DIGITS = 78

/** Sorts rows by displayed value, largest first; then uncounted rows, spam last; ties by `toTieKey`. */
export function sortRows(rows: readonly Row[]): Row[] {
  return rows
    .map((row) => ({ row, rank: getRank(row), tieKey: toTieKey(row) }))
    .sort((a, b) => {
      if (a.rank !== b.rank) return a.rank > b.rank ? -1 : 1
      return a.tieKey < b.tieKey ? -1 : a.tieKey > b.tieKey ? 1 : 0
    })
    .map(({ row }) => row)
}

/** Ranks below every value. */
const UNCOUNTED_RANK = -(10n ** 400n)
const SPAM_RANK = UNCOUNTED_RANK - 1n

function getRank({ verdict }: Row): bigint {
  if (verdict.counted) return sumE6([verdict.value])
  return verdict.reason === 'spam' ? SPAM_RANK : UNCOUNTED_RANK
}

/** Text that sorts by chain, kind, address and position. */
function toTieKey({ chainId, kind, token, position }: Row): string {
  const numbers = [chainId, ROW_KINDS.indexOf(kind)].map((each) => String(each).padStart(16, '0'))
  const fields = Object.values(position ?? {}).map((field) =>
    /^[0-9]+$/.test(field) ? field.padStart(ID_DIGITS, '0') : field.toLowerCase(),
  )
  return [...numbers, token.address.toLowerCase(), ...fields].join()
}
