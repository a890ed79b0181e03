import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { chainIdNumber, targetHealthFactorNumber, walletList } from '../../../http/request/batch.ts'
import {
  configuredChainId,
  limit,
  noMoment,
  page,
  solanaAddress,
  targetHealthFactor,
} from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { SOLANA_ADDRESS } from '../../../lib/text/text_format.ts'
import { SPARE_MS, toAsOfSlot } from '../../moment.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import { batchOutput, listOutput, presentCoverage, presentReduced, presentWallet } from '../present/list.ts'
import { BATCH_BUDGET_MS, type KaminoReader, LIST_BUDGET_MS } from '../read/read.ts'
import { CHARGES, PROTOCOL } from './credits.ts'

const market_address = v.optional(solanaAddress)

/** Creates the routes that list the obligations of one wallet and of many. */
export function listRoutes(reader: () => KaminoReader): readonly Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/lending/kamino',
      operation: 'kamino_positions',
      tool: { ...LENDING_TOOLS.list, protocol: PROTOCOL },
      summary: 'Lists the Kamino obligations of a wallet with the risk and yield of each.',
      description:
        "Obligations are found by a search of the program's accounts if an endpoint offers it, which finds all; else " +
        '`coverage` says that some may be missing.',
      input: v.object({
        ...noMoment,
        wallet: solanaAddress,
        market_address,
        target_health_factor: targetHealthFactor,
        chain_id: v.optional(configuredChainId([SOLANA_CHAIN_ID], 'chain of this family')),
        page,
        limit,
      }),
      output: listOutput,
      errors: [502],
      budgetMs: LIST_BUDGET_MS + SPARE_MS,
      charge: CHARGES.list,
      async read({ wallet, market_address: market }, { work }) {
        const { obligations, ...read } = await reader().readWallet({ wallet, market }, work)
        return { ...read, wallets: obligations.length === 0 ? [] : [{ wallet, obligations }] }
      },
      count: ({ wallets }) => wallets.length,
      untilMs: ({ untilMs }) => untilMs,
      present: ({ slot, isMixed, wallets, by }, { target_health_factor: target, page, limit }, { url }) => ({
        data: slicePage(wallets, { page, limit }).map((each) =>
          presentWallet(each, { target, hasSlot: isMixed, isTrusted: reader().isTrusted }),
        ),
        coverage: presentCoverage(by),
        pagination: createPagination({ page, limit, total: wallets.length, url }),
        asOf: toAsOfSlot(slot),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/lending/kamino/batch',
      operation: 'kamino_batch',
      tool: { ...LENDING_TOOLS.batch, protocol: PROTOCOL },
      summary: 'Lists health factor, net worth and net APY of the Kamino obligations of many wallets.',
      description:
        'Answers within 15 seconds or with 504; what was found until then is remembered for a minute, so that a retry ' +
        'gets further.',
      input: v.object({ ...noMoment, page, limit }),
      body: v.strictObject({
        ...noMoment,
        wallets: walletList(solanaAddress, { what: 'Solana addresses', format: SOLANA_ADDRESS }),
        market_address,
        target_health_factor: targetHealthFactorNumber,
        chain_id: v.optional(chainIdNumber([SOLANA_CHAIN_ID], 'chain of this family')),
      }),
      output: batchOutput,
      errors: [502, 504],
      budgetMs: BATCH_BUDGET_MS + SPARE_MS,
      charge: CHARGES.batch,
      read: ({ wallets, market_address: market }, { work }) => reader().readWallets({ wallets, market }, work),
      count: ({ wallets }) => wallets.length,
      untilMs: ({ untilMs }) => untilMs,
      present: ({ slot, isMixed, wallets, by }, { target_health_factor: target, page, limit }, { url }) => ({
        data: slicePage(wallets, { page, limit }).map((each) =>
          presentReduced(each, { target, hasSlot: isMixed, isTrusted: reader().isTrusted }),
        ),
        coverage: presentCoverage(by),
        pagination: createPagination({ page, limit, total: wallets.length, url }),
        asOf: toAsOfSlot(slot),
      }),
    }),
  ]
}
