import { toEventSelector } from 'viem'
import { toLowerHex } from '../../../../chain/call/words.ts'
import type { HistoryLog, LogFilter } from '../../../../history/stream.ts'
import type { EnumerableDeployment } from '../exchange.ts'
import { decodeFlows, FLOW_KINDS } from '../position_history/flow_log.ts'

/** Logged when a position's token is transferred or burned. */
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

/** Events of a position that triggers can watch. */
export const POSITION_EVENTS = [...FLOW_KINDS.values()]

/** Creates a filter for all logs that change a position. Ids are matched later: they would make the filter too long. */
export function createChangeFilter(deployments: readonly EnumerableDeployment[]): LogFilter {
  return {
    addresses: deployments.map(({ manager }) => toLowerHex(manager)),
    topics: [[...FLOW_KINDS.keys(), TRANSFER]],
  }
}

/** Lists the keys (`getPositionKey`) of positions that the logs change. */
export function listChangedPositions(
  logs: readonly HistoryLog[],
  deployments: readonly EnumerableDeployment[],
): ReadonlySet<string> {
  const managers = new Set(createChangeFilter(deployments).addresses)
  return new Set(
    logs.flatMap(({ address, topics: [event, ...args] }) => {
      const id = event === TRANSFER ? args[2] : FLOW_KINDS.has(event ?? '0x') ? args[0] : undefined
      return id === undefined || !managers.has(address) ? [] : [getPositionKey(address, BigInt(id))]
    }),
  )
}

/** Decodes the flows in logs of these managers, in order, each with its log. Throws as `decodeFlows`. */
export function decodeLoggedFlows(logs: readonly HistoryLog[], deployments: readonly EnumerableDeployment[]) {
  const managers = new Set(createChangeFilter(deployments).addresses)
  return logs
    .filter(({ address }) => managers.has(address))
    .flatMap((log) =>
      decodeFlows([log]).map(({ tokenId, kind }) => ({ key: getPositionKey(log.address, tokenId), kind, log })),
    )
}

/** Gets the key of a position on its chain. */
export function getPositionKey(manager: string, tokenId: bigint | string): string {
  return `${toLowerHex(manager)}:${tokenId}`
}
