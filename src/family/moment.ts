import type { PinnedBlock } from '../chain/block.ts'
import { createBlockFinder, NoBlockError } from '../chain/past/block_at.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError } from '../lib/error.ts'
import type { Moment } from './place.ts'

/** Finds the blocks of moments. */
export interface Moments {
  /**
   * The block of a chain at a moment, which is one; or what is wrong with the moment there, for `momentRefused`. Throws
   * as `BlockFinder`.
   */
  blockAt(client: ChainClient, moment: Moment, signal: AbortSignal): Promise<PinnedBlock | string>
}

/** Makes it with an empty memory. */
export function createMoments(clock: Clock): Moments {
  const blocks = createBlockFinder(clock)
  return {
    async blockAt(client, { at_block, at_time }, signal) {
      const atSec = at_time?.sec ?? 0
      const chain = `chain ${client.chain.id} (${client.chain.name})`
      try {
        return await (at_block === undefined
          ? blocks.byTime(client, BigInt(atSec), signal)
          : blocks.byNumber(client, BigInt(at_block), signal))
      } catch (error) {
        if (!(error instanceof NoBlockError)) throw error
        const { number, timestampSec } = error.nearest
        if (at_block !== undefined) return `expected at most ${number}, the newest block of ${chain}`
        if (timestampSec < atSec) return 'expected no time in the future'
        return `expected a time from ${timestampSec} on, when ${chain} began`
      }
    },
  }
}

/** A mistake in a request: the moment that it is about, with the reason. */
export function momentRefused({ at_block, at_time }: Moment, reason: string): CodedError {
  const [parameter, sent] = at_block === undefined ? ['at_time', at_time?.sent] : ['at_block', at_block]
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${parameter}": ${reason}, got "${sent}"`)
}
