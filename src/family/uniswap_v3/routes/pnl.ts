import * as v from 'valibot'
import { profitOfLife } from '../../../finance/liquidity/lives/told_life.ts'
import { presentPnl } from '../../../finance/liquidity/present.ts'
import { pnlOutput } from '../../../finance/liquidity/schema.ts'
import { chainIdIn, choice, evmAddress, moment, momentRule, tokenId } from '../../../http/request/input.ts'
import { type Route, route } from '../../../http/route/route.ts'
import { CodedError } from '../../../lib/error.ts'
import { asOf } from '../../place.ts'
import { CHARGES } from './credits.ts'
import { askedLife, type RoutesOptions } from './places.ts'

/** Profit and loss of one position. */
export function pnlRoute({ reader, lives, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      id: tokenId,
      chain_id: v.optional(chainIdIn(chainIds)),
      manager_address: v.optional(evmAddress),
      status: v.optional(choice(['inactive'])),
      ...moment,
    }),
    momentRule(),
  )
  return route({
    method: 'GET',
    path: '/v1/positions/uniswap-v3/:id/pnl',
    tool: 'uniswap_pnl',
    summary:
      'Counts the profit and loss of one liquidity position over the life of its token, also after it was burned.',
    input,
    output: pnlOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    feature: 'history',
    charge: CHARGES.pnl,
    async read({ status, ...asked }, { signal }) {
      const positionLife = await lives().find(askedLife(reader(), asked), signal)
      const profit = await profitOfLife(positionLife)
      if (status === 'inactive' && !profit.isClosed) {
        const message = `Position ${positionLife.tokenId} on chain ${positionLife.chainId} is active: ask without "status"`
        throw new CodedError('NOT_FOUND', message)
      }
      return { positionLife, profit }
    },
    present: ({ positionLife, profit }) => ({
      data: presentPnl(profit, positionLife),
      asOf: asOf([positionLife]),
    }),
  })
}
