import { encodeFunctionData, parseAbi } from 'viem'
import type { Stream } from '../../../../history/stream.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { POSITION_FLOWS, type PositionFlow, readPositionFlows } from '../../position_history/position_flow.ts'
import type { EnumerableExchange } from '../exchange.ts'
import { decodeFlows, FLOW_KINDS } from './flow_log.ts'
import { createStateCheck, type StateWords } from './state_check.ts'

const TOPICS = [...FLOW_KINDS.keys()]
const ABI = parseAbi(['function positions(uint256 tokenId) view'])
/** Liquidity, both fee counters and both owed amounts: the words that only flows change. */
const FLOW_WORDS = { from: 7, to: 12 }
/** Liquidity and both owed amounts. */
const LEFT_WORDS = [7, 10, 11]

/**
 * Creates the stream of flows into and out of positions. A subject is a token id; transfers are not flows. Between two
 * flows the manager's state of a position does not change, also while a custodian holds it.
 */
export function createFlowStream(
  { streamName: name }: Pick<EnumerableExchange, 'streamName'>,
  clock: Clock,
): Stream<PositionFlow> {
  return {
    name,
    table: POSITION_FLOWS,
    filters: ({ contract }, subjects) => [
      { addresses: [contract], topics: subjects === null ? [TOPICS] : [TOPICS, subjects] },
    ],
    decode: (_, logs) => ({ rows: decodeFlows(logs), unsettled: [] }),
    ...createFlowCheck({ stream: name, clock }),
  }
}

/** Creates the check of flows against the manager's state, which knows each position from its mint until it is burned. */
export function createFlowCheck(options: { readonly stream: string; readonly clock: Clock }) {
  return createStateCheck({
    ...options,
    readRows: readPositionFlows,
    state: {
      encode: (tokenId) => encodeFunctionData({ abi: ABI, functionName: 'positions', args: [tokenId] }),
      isKnown: (state) => state !== undefined,
      isUnchanged,
    },
  })
}

/** True if the state did not change. An empty position may be burned without a flow. */
function isUnchanged(before: StateWords, after: StateWords): boolean {
  if (before === undefined) return after === undefined
  if (after === undefined) return LEFT_WORDS.every((index) => /^0*$/.test(before[index] ?? ''))
  const { from, to } = FLOW_WORDS
  return before.slice(from, to).join() === after.slice(from, to).join()
}
