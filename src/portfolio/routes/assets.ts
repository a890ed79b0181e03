import * as v from 'valibot'
import { getEarliestExpiryMs, isNow, toAsOf } from '../../family/moment.ts'
import { choice, flag, limit, momentRule, page } from '../../http/request/input.ts'
import { createPagination, slicePage } from '../../http/route/page.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { presentRow } from '../present.ts'
import { assetsOutput } from '../schema.ts'
import { sortRows } from '../sum/order.ts'
import { ROW_KINDS, type Row } from '../sum/row.ts'
import { momentParameters, tokensRule, walletRule } from './input.ts'
import { type PortfolioOptions, readRows } from './rows.ts'

/** Defines the route that lists a wallet's rows, counted or not. */
export function assetsRoute(options: PortfolioOptions): Route {
  const input = v.pipe(
    v.object({
      ...momentParameters(options.chainIds),
      kind: v.optional(v.pipe(choice(ROW_KINDS), v.description('Rows of this kind only.'))),
      counted: v.optional(v.pipe(flag, v.description('Only rows that are counted, or only those that are not.'))),
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
      return { reads, unread, total: matchingRows.length, whole, items: await divide(whole) }
    },
    count: ({ whole }) => whole.filter((row) => !isFree(row)).length,
    untilMs: ({ reads, unread }, query) => (isNow(query) && unread.length === 0 ? getEarliestExpiryMs(reads) : 0),
    present: ({ items, total, reads }, { page, limit }, { url }) => ({
      data: items.map(presentRow),
      pagination: createPagination({ page, limit, total, url }),
      asOf: toAsOf(reads),
    }),
  })
}

function isFree({ verdict }: Row): boolean {
  return !verdict.counted && ['spam', 'dust'].includes(verdict.reason)
}
