import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { noMoment, solanaAddress, targetHealthFactor } from '../../../http/request/input.ts'
import { signedReceipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import type { Work } from '../../../lib/async/work.ts'
import { CodedError } from '../../../lib/error.ts'
import { toAsOfSlot } from '../../moment.ts'
import { LENDING_TOOLS } from '../../tools.ts'
import { type NamedObligation, presentRisk, presentYield, riskOutput, yieldOutput } from '../present/obligation.ts'
import type { AbsentReason } from '../read/obligations.ts'
import type { KaminoReader } from '../read/read.ts'
import { CHARGES, PROTOCOL } from './credits.ts'

const input = v.object({
  ...noMoment,
  obligation_address: solanaAddress,
  wallet: solanaAddress,
  market_address: solanaAddress,
  target_health_factor: targetHealthFactor,
  ...signedReceipt,
})

/** Read that found the obligation. */
type FoundObligation = Extract<Awaited<ReturnType<KaminoReader['readObligation']>>, { kind: 'found' }>

type Input = v.InferOutput<typeof input>

/** Creates the routes for yield and risk of one obligation. */
export function obligationRoutes(reader: () => KaminoReader): readonly Route[] {
  async function read(query: Input, { work }: { readonly work: Work }): Promise<FoundObligation> {
    const { obligation_address: address, market_address: market, wallet } = query
    const reading = await reader().readObligation({ address, market, wallet }, work)
    if (reading.kind === 'absent') throw notFoundError(query, reading.reason)
    return reading
  }

  const common = {
    method: 'GET',
    input,
    errors: [404, 502],
    charge: CHARGES.obligation,
    read,
    untilMs: ({ untilMs }: FoundObligation) => untilMs,
  } as const

  return [
    defineRoute({
      ...common,
      path: '/v1/lending/kamino/position/:obligation_address/yield',
      operation: 'kamino_yield',
      tool: { ...LENDING_TOOLS.yield, protocol: PROTOCOL },
      summary: 'Interest earned and paid, net APY, leverage and weighted APYs of one Kamino obligation.',
      output: yieldOutput,
      present: ({ slot, position }, query) => ({
        data: {
          ...toNamedObligation(query),
          ...presentYield(position, { isTrusted: reader().isTrusted(query.market_address) }),
        },
        asOf: toAsOfSlot(slot),
      }),
    }),
    defineRoute({
      ...common,
      path: '/v1/lending/kamino/position/:obligation_address/risk',
      operation: 'kamino_risk',
      tool: { ...LENDING_TOOLS.risk, protocol: PROTOCOL },
      summary: 'Health factor, loan-to-value and safe borrow and withdraw amounts of one Kamino obligation.',
      output: riskOutput,
      present: ({ slot, position }, query) => ({
        data: presentRisk(toNamedObligation(query), position, query.target_health_factor),
        asOf: toAsOfSlot(slot),
      }),
    }),
  ]
}

function toNamedObligation({ wallet, market_address, obligation_address }: Input): NamedObligation {
  return { chain_id: SOLANA_CHAIN_ID, wallet, market_address, obligation_address }
}

function notFoundError({ obligation_address, wallet, market_address }: Input, reason: AbsentReason): CodedError {
  const reasonText = {
    no_obligation: 'there is no such obligation',
    other_wallet: `it does not belong to wallet ${wallet}`,
    other_market: `it is not in market ${market_address}`,
  }[reason]
  return new CodedError('NOT_FOUND', `Cannot find Kamino obligation ${obligation_address}: ${reasonText}`)
}
