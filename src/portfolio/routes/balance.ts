import * as v from 'valibot'
import { getEarliestExpiryMs, isNow, toAsOf } from '../../family/moment.ts'
import { momentRule } from '../../http/request/input.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { presentBalance } from '../present.ts'
import { balanceOutput } from '../schema.ts'
import { computeBalance } from '../sum/total.ts'
import { addCurrency, currencyParameter, readRate } from './currency.ts'
import { momentParameters, tokensRule, walletRule } from './input.ts'
import { type PortfolioOptions, readRows } from './rows.ts'

/** Defines the route that sums a wallet's rows. */
export function balanceRoute(options: PortfolioOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/portfolio/balance',
    operation: 'portfolio_balance',
    tool: { name: 'read_net_worth', title: 'Net worth of a wallet' },
    summary: 'Sums what a wallet has and owes, by kind, by chain and by price confidence.',
    description:
      'Counts the native token, all listed tokens and what the families hold, at one block of each chain. Whatever is ' +
      'not counted is a row of `/v1/portfolio/assets` with its reason. A Solana wallet is answered for chain 101, at one ' +
      'slot.',
    input: v.pipe(
      v.object({ ...momentParameters(options.chainIds), ...currencyParameter }),
      walletRule(),
      momentRule(),
      tokensRule(options.nativeDoubles),
    ),
    output: balanceOutput,
    errors: [502, 503],
    charge: { credits: 15, per: 'chain with anything counted' },
    async read(query, { work }) {
      const { rows, unsourced, omitted, ...assets } = await readRows(options, query, work)
      const rate = await readRate(options.rates, query, assets, work)
      return { ...assets, rate, balance: computeBalance(rows, { unsourced, omitted }) }
    },
    count: ({ balance }) => balance.chains.filter(({ counted }) => counted > 0).length,
    untilMs: ({ reads, unread }, query) => (isNow(query) && unread.length === 0 ? getEarliestExpiryMs(reads) : 0),
    present: ({ balance, reads, unread, coverage, rate }, { wallet }) =>
      addCurrency({ data: presentBalance(wallet, balance, { unread, coverage }), asOf: toAsOf(reads) }, rate),
  })
}
