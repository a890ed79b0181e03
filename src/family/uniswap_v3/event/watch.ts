import { toEventSelector } from 'viem'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { HistoryLog, LogFilter } from '../../../history/stream.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import { decodeFlows, FLOW_KINDS } from './log.ts'

/** Whose token is burned or sent. */
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

/** What triggers are told of a position. */
export const POSITION_EVENTS = [...FLOW_KINDS.values()]

/** What finds every log of managers that changes a position. Ids are matched afterwards: they would make it too long. */
export function createChangeFilter(deployments: readonly UniswapV3Deployment[]): LogFilter {
  return {
    addresses: deployments.map(({ manager }) => toLowerHex(manager)),
    topics: [[...FLOW_KINDS.keys(), TRANSFER]],
  }
}

/** Positions that the logs change, as `getPositionKey` names them. */
export function listChangedPositions(
  logs: readonly HistoryLog[],
  deployments: readonly UniswapV3Deployment[],
): ReadonlySet<string> {
  const managers = new Set(createChangeFilter(deployments).addresses)
  return new Set(
    logs.flatMap(({ address, topics: [event, ...named] }) => {
      const id = event === TRANSFER ? named[2] : FLOW_KINDS.has(event ?? '0x') ? named[0] : undefined
      return id === undefined || !managers.has(address) ? [] : [getPositionKey(address, BigInt(id))]
    }),
  )
}

/** The flows that logs of these managers tell, in their order, each with its log. Throws as `decodeFlows`. */
export function decodeLoggedFlows(logs: readonly HistoryLog[], deployments: readonly UniswapV3Deployment[]) {
  const managers = new Set(createChangeFilter(deployments).addresses)
  return logs
    .filter(({ address }) => managers.has(address))
    .flatMap((log) =>
      decodeFlows([log]).map(({ tokenId, kind }) => ({ name: getPositionKey(log.address, tokenId), kind, log })),
    )
}

/** Names a position on its chain. */
export function getPositionKey(manager: string, tokenId: bigint | string): string {
  return `${toLowerHex(manager)}:${tokenId}`
}
