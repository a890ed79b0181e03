import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { chainIdIn, limit, noMoment, page, solanaAddress, targetHealthFactor } from '../../../http/request/input.ts'
import { pageOf, pagination } from '../../../http/route/page.ts'
import { type Route, route } from '../../../http/route/route.ts'
import { asOfSlot } from '../../place.ts'
import { listOutput, presentCoverage, presentWallet } from '../present/list.ts'
import { LIST_BUDGET_MS } from '../read/read.ts'
import { CHARGES } from './credits.ts'
import { type ConnectedKamino, connectedOr, SPARE_MS } from './reader.ts'

/** The list of a wallet's obligations. */
export function listRoute(reader: ConnectedKamino): Route {
  return route({
    method: 'GET',
    path: '/v1/lending/kamino',
    tool: 'kamino_positions',
    summary: 'Lists the Kamino obligations of a wallet with the risk and yield of each.',
    description:
      "Obligations are found by a search of the program's accounts if an endpoint offers it, which finds all; else " +
      '`coverage` says that some may be missing.',
    input: v.object({
      ...noMoment,
      wallet: solanaAddress,
      market_address: v.optional(solanaAddress),
      target_health_factor: targetHealthFactor,
      chain_id: v.optional(chainIdIn([SOLANA_CHAIN_ID], 'chain of this family')),
      page,
      limit,
    }),
    output: listOutput,
    errors: [502],
    budgetMs: LIST_BUDGET_MS + SPARE_MS,
    charge: CHARGES.list,
    read: ({ wallet, market_address: market }, { signal }) =>
      connectedOr(reader).readWallet({ wallet, market }, signal),
    count: ({ obligations }) => Math.min(1, obligations.length),
    untilMs: ({ untilMs }) => untilMs,
    present({ slot, isMixed, obligations, by }, { wallet, target_health_factor: target, page, limit }, { url }) {
      const entries = obligations.length === 0 ? [] : [{ wallet, obligations }]
      return {
        data: pageOf(entries, { page, limit }).map((each) => presentWallet(each, { target, slot: isMixed })),
        coverage: presentCoverage(by),
        pagination: pagination({ page, limit, total: entries.length, url }),
        asOf: asOfSlot(slot),
      }
    },
  })
}
