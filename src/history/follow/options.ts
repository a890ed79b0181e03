import type { Hex } from 'viem'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Database } from '../../db/database.ts'
import type { Requesters } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Coverage } from '../coverage.ts'
import type { AdaptiveLogSource, FinalBlock } from '../logs/reader.ts'
import type { Stream, StreamTarget } from '../stream.ts'

/** Which history to complete, and which blocks of it. */
export interface HistoryRequest {
  /** Null: the global history. */
  readonly subject: Hex | null
  readonly fromBlock: number
  /** The last block, which is final. */
  readonly final: FinalBlock
  /** The requesters, which are served in turn. */
  readonly requesters: Requesters
}

export interface FollowerOptions<Row, Target extends StreamTarget> {
  readonly stream: Stream<Row, Target>
  readonly target: Target
  readonly client: ChainClient
  readonly sources: readonly AdaptiveLogSource[]
  readonly coverage: Coverage
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly onStored: (blocks: number) => void
  readonly onHealed: (logs: number) => void
}
