import type { ObjectEntries } from 'valibot'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { Custodian, LiquidityProtocol } from '../protocol.ts'
import type { EnumerableDeployment, EnumerableExchange } from './exchange.ts'
import { exitPosition } from './exit.ts'
import { computeHeldAmounts, computeInside, isOwed, splitOwed } from './math.ts'
import { createFlowHistoryReader } from './position_history/reader.ts'
import { createFlowStream } from './position_history/stream.ts'
import { buildEnumerableOutputs, SPLIT_FIELDS } from './present.ts'
import type { BriefPosition, Position } from './read/position.ts'
import { createPositionReader } from './read/read.ts'

/** The protocol of an enumerable exchange. */
export type EnumerableProtocol = LiquidityProtocol<EnumerableDeployment, BriefPosition, Position, never>

/** Makes the protocol of an exchange; `pool` has the fields of its pools in answers, and how they are presented. */
export function createEnumerableProtocol(
  exchange: EnumerableExchange,
  pool: { readonly entries: ObjectEntries; readonly present: (pool: Position['pool']) => object },
): EnumerableProtocol {
  const { computeReward } = exchange
  return {
    name: exchange.name,
    words: exchange.words,
    getManager: ({ manager }) => manager,
    getCode: ({ code }) => code,
    createReader: (options) => createPositionReader(exchange, options),
    ...(exchange.hasCustodians && { getCustodian: (position: Position) => locateCustodian(exchange, position) }),
    ...(exchange.isOwnerKnown && { isOwnerKnown: exchange.isOwnerKnown }),
    isEnumerable: true,
    computeHeldAmounts,
    computeInside,
    splitOwed(position, { principal, owed }, { withdrawn }) {
      const split = splitOwed(owed, { stored: position.owed, withdrawn })
      return { fees: split?.fees, withdrawn: split?.withdrawn, total: [principal, owed] }
    },
    toHeldParts(position, { withdrawn }) {
      const { principal, owed } = computeHeldAmounts(position)
      const split = splitOwed(owed, { stored: position.owed, withdrawn })
      // Where the flows do not tell fees and withdrawn principal apart, both together are `owed`.
      const parts = { principal, ...(split ?? { owed }) }
      return Object.entries(parts).map(([part, amounts]) => ({ part, amounts }))
    },
    ...(computeReward && {
      computeRewards: (position: Position) =>
        (position.rewards ?? []).map(({ token, words }) => ({ token, ...computeReward(words, position) })),
    }),
    exitPosition: (position) => exitPosition(position, exchange.exitCustody),
    presentPool: (position) => pool.present(position.pool),
    outputs: buildEnumerableOutputs(exchange, pool.entries),
    listUncoveredFields: (position) => (isOwed(position) ? SPLIT_FIELDS : []),
    createHistoryReader: (services) => createFlowHistoryReader(exchange, services),
    listHistories({ chainId, deployment: { manager, code, startBlock } }, clock) {
      const stream = createFlowStream(exchange, clock)
      const target = { chainId, contract: toLowerHex(manager), startBlock }
      return [
        {
          title: `${exchange.name} ${code}`,
          complete: (reader, work) => reader.complete({ stream, target }, work),
        },
      ]
    },
    pnlStatusOfState: 'pending',
    withdrawn: {
      isOwed,
      listState: ({ liquidity, owed, insideLast }) => [
        liquidity,
        owed.amount0,
        owed.amount1,
        insideLast.growth0,
        insideLast.growth1,
      ],
    },
  }
}

/** The custodian itself where a registry stands for it. */
function locateCustodian(
  exchange: Pick<EnumerableExchange, 'locateCustodian'>,
  { custodian, deployment, pool }: Pick<Position, 'custodian' | 'deployment' | 'pool'>,
): Custodian | undefined {
  const isRegistry = custodian !== undefined && custodian === deployment.registry
  return isRegistry ? exchange.locateCustodian?.(custodian, pool.words ?? []) : custodian
}
