import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { chainNumberIn, targetNumber, walletsOf } from '../../../http/request/batch.ts'
import { limit, noMoment, page, solanaAddress } from '../../../http/request/input.ts'
import { pageOf, pagination } from '../../../http/route/page.ts'
import { type Route, route } from '../../../http/route/route.ts'
import { SOLANA_ADDRESS } from '../../../lib/text/text_format.ts'
import { asOfSlot } from '../../place.ts'
import { batchOutput, presentCoverage, presentReduced } from '../present/list.ts'
import { BATCH_BUDGET_MS } from '../read/read.ts'
import { CHARGES } from './credits.ts'
import { type ConnectedKamino, connectedOr, SPARE_MS } from './reader.ts'

/** The obligations of many wallets. */
export function batchRoute(reader: ConnectedKamino): Route {
  return route({
    method: 'POST',
    path: '/v1/lending/kamino/batch',
    tool: 'kamino_batch',
    summary: 'Lists health factor, net worth and net APY of the Kamino obligations of many wallets.',
    description:
      'Answers within 15 seconds or with 504; what was found until then is remembered for two minutes, so that a retry ' +
      'gets further.',
    input: v.object({ ...noMoment, page, limit }),
    body: v.strictObject({
      ...noMoment,
      wallets: walletsOf(solanaAddress, { what: 'Solana addresses', format: SOLANA_ADDRESS }),
      market_address: v.optional(solanaAddress),
      target_health_factor: targetNumber,
      chain_id: v.optional(chainNumberIn([SOLANA_CHAIN_ID], 'chain of this family')),
    }),
    output: batchOutput,
    errors: [502, 504],
    budgetMs: BATCH_BUDGET_MS + SPARE_MS,
    charge: CHARGES.batch,
    read: ({ wallets, market_address: market }, { signal }) =>
      connectedOr(reader).readWallets({ wallets, market }, signal),
    count: ({ wallets }) => wallets.length,
    untilMs: ({ untilMs }) => untilMs,
    present: ({ slot, isMixed, wallets, by }, { target_health_factor: target, page, limit }, { url }) => ({
      data: pageOf(wallets, { page, limit }).map((each) => presentReduced(each, { target, slot: isMixed })),
      coverage: presentCoverage(by),
      pagination: pagination({ page, limit, total: wallets.length, url }),
      asOf: asOfSlot(slot),
    }),
  })
}
