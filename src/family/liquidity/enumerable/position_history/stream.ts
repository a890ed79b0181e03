import type { Stream } from '../../../../history/stream.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { POSITION_FLOWS, type PositionFlow } from '../../position_history/position_flow.ts'
import type { EnumerableExchange } from '../exchange.ts'
import { decodeFlows, FLOW_KINDS } from './flow_log.ts'
import { createFlowCheck } from './verify.ts'

const TOPICS = [...FLOW_KINDS.keys()]

/** Creates the stream of flows into and out of positions. A subject is a token id; transfers are not flows. */
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
