import * as v from 'valibot'
import type { Hex } from 'viem'
import { LENDING_EVENT_TYPES } from '../../../../../src/family/lending/lending_event.ts'
import { eventsOutput, presentEvent } from '../../../../../src/family/lending/present.ts'
import type { EventReader } from '../../../../../src/family/lending/read_events.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import type { StreamTarget } from '../../../../../src/history/stream.ts'
import { choice, configuredChainId, evmAddress, limit, page } from '../../../../../src/http/request/input.ts'
import { type Charge, PER_CALL } from '../../../../../src/http/route/charge.ts'
import { createPagination } from '../../../../../src/http/route/page.ts'
import { defineRoute, type Route } from '../../../../../src/http/route/route.ts'
import { appraisalsOutput, presentAppraisal } from '../present/present.ts'
import type { readAppraisals } from '../read/appraisals.ts'
import { toTarget } from '../read/loans.ts'
import type { PawnshopDeployment } from '../table/deployments.ts'

const CHARGES = { events: { credits: 3, per: PER_CALL }, appraisals: { credits: 1, per: PER_CALL } } satisfies Record<
  string,
  Charge
>

/** The family's endpoints. */
const CHAIN_PRICES = { kind: 'chain' } as const

export function createRoutes(options: {
  readonly chainIds: readonly number[]
  readonly shopOn: (chainId: number) => { readonly client: FinanceClient; readonly deployment: PawnshopDeployment }
  readonly events: () => EventReader<StreamTarget>
  readonly appraisals: (...args: DropFirst<Parameters<typeof readAppraisals>>) => ReturnType<typeof readAppraisals>
}): readonly Route[] {
  const { chainIds, shopOn, events, appraisals } = options
  const named = { chain_id: configuredChainId(chainIds), wallet: evmAddress }
  const ofLoans = defineRoute({
    method: 'GET',
    path: '/v1/lending/pawnshop/position/:chain_id/events',
    operation: 'pawnshop_events',
    tool: { name: 'list_pawnshop_events', title: 'Loans of a wallet at the pawnshop' },
    summary: 'Lists the loans and repayments of a wallet, newest first.',
    input: v.object({
      ...named,
      counter: v.optional(v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/, 'expected 0x and 64 hex digits'))),
      type: v.optional(choice(LENDING_EVENT_TYPES)),
      page,
      limit,
    }),
    output: eventsOutput,
    errors: [503],
    feature: 'history',
    charge: CHARGES.events,
    read({ chain_id: chainId, counter, ...question }, { work }) {
      const { client, deployment } = shopOn(chainId)
      const pendingTarget = Promise.resolve({
        target: toTarget(chainId, deployment),
        getSource: () => CHAIN_PRICES,
      })
      return events().read({ client, pendingTarget, market: counter as Hex | undefined, ...question }, work)
    },
    present: ({ events: list, total, block }, { chain_id, ...asked }, { url }) => ({
      data: list.map(presentEvent),
      pagination: createPagination({ page: asked.page, limit: asked.limit, total, url }),
      asOf: [{ chainId: chain_id, blockNumber: block.number }],
    }),
  })
  const ofAppraisals = defineRoute({
    method: 'GET',
    path: '/v1/lending/pawnshop/position/:chain_id/appraisals',
    summary: 'Lists what the pawns of a wallet are worth, oldest first.',
    input: v.object(named),
    output: appraisalsOutput,
    errors: [503],
    feature: 'history',
    charge: CHARGES.appraisals,
    read: ({ chain_id, wallet }, { work }) => appraisals({ ...shopOn(chain_id), wallet }, work),
    present: ({ appraisals: list, block }, { chain_id }) => ({
      data: list.map(presentAppraisal),
      asOf: [{ chainId: chain_id, blockNumber: block.number }],
    }),
  })
  return [ofLoans, ofAppraisals]
}

type DropFirst<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest] ? Rest : never
