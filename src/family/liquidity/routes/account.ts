import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { configuredChainId, limit, noMoment, page, solanaAddress } from '../../../http/request/input.ts'
import { createPagination } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { SPARE_MS, toAsOfSlot } from '../../moment.ts'
import { presentTotals } from '../list/classify.ts'
import type { AccountList, AccountPosition, AccountProtocol, AccountReader } from '../protocol.ts'
import { describeRoute, fullParameter, inactiveStatus, refuseFullOfInactive } from './parameters.ts'

/*
 * The routes of positions that are accounts of Solana. They read a page, not a list of which a page is shown; and one
 * slot, never a past one, so that they have no history.
 */

/** Parameters of both routes besides the wallet. */
const COMMON = {
  full: fullParameter,
  chain_id: v.optional(configuredChainId([SOLANA_CHAIN_ID], 'chain of this family')),
}

/** Creates the routes of a wallet's positions and of one position. */
export function accountRoutes<Setting, Position extends AccountPosition, Absence>(
  protocol: AccountProtocol<Setting, Position, Absence>,
  reader: () => AccountReader<Position, Absence>,
): readonly [list: Route, position: Route] {
  const { words, outputs, presentPosition } = protocol
  const budgetMs = protocol.budgetMs + SPARE_MS
  return [
    defineRoute({
      ...describeRoute(protocol, 'list'),
      summary: `Lists the ${words.noun}s of a wallet on Solana, active ones unless told otherwise.`,
      input: v.pipe(
        v.object({ ...noMoment, wallet: solanaAddress, status: inactiveStatus, ...COMMON, page, limit }),
        refuseFullOfInactive(),
      ),
      output: outputs.list,
      readsPage: true,
      errors: [502],
      budgetMs,
      async read({ wallet, status, full, page, limit }, { work }) {
        const isActive = status === undefined
        const read = await reader().readWallet({ wallet, isActive, isFull: full, page, limit }, work)
        return { read, matching: isActive ? read.totalActive : read.totalInactive }
      },
      count: ({ read }) => read.positions.length,
      untilMs: ({ read }) => read.untilMs,
      present: ({ read, matching }, { page, limit }, { url }) => ({
        data: read.positions.map((position) =>
          presentPosition(position, { hasSqrtPrice: false, hasSlot: read.isMixed }),
        ),
        pagination: createPagination({ page, limit, total: matching, url }),
        counts: presentCounts(read, matching),
        asOf: toAsOfSlot(read.slot),
      }),
    }),
    defineRoute({
      ...describeRoute(protocol, 'position'),
      summary: `Reads the on-chain state of one ${words.noun} on Solana.`,
      description: words.idNote,
      input: v.object({ ...noMoment, id: solanaAddress, wallet: solanaAddress, ...COMMON }),
      output: outputs.position,
      errors: [404, 502],
      budgetMs,
      async read({ id, wallet, full }, { work }) {
        const read = await reader().readOne({ id, wallet, isFull: full }, work)
        if (read.kind === 'absent') throw protocol.explainAbsence(read.reason, { id, wallet })
        return read
      },
      untilMs: ({ untilMs }) => untilMs,
      present: ({ position }) => ({
        data: presentPosition(position, { hasSqrtPrice: true, hasSlot: false }),
        asOf: toAsOfSlot(position.slot),
      }),
    }),
  ]
}

function presentCounts(
  { totalActive, totalInactive, unreadable, omitted, spams }: AccountList<AccountPosition>,
  filtered: number,
) {
  return presentTotals({
    totalActive,
    totalInactive,
    filtered,
    errors: unreadable + omitted,
    spams: spams.map(({ program, tokenId, reason }) => ({
      token_id: tokenId,
      chain_id: SOLANA_CHAIN_ID,
      manager_address: program,
      reason,
    })),
  })
}
