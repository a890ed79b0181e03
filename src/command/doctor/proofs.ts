import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import { searchDepth } from '../../chain/past/state_depth.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { canProveBlock } from '../../receipt/proof/can_prove_block.ts'
import { UnprovenError } from '../../receipt/proof/collect.ts'
import { findHintMethod } from '../../receipt/proof/hint.ts'
import { formatThousands } from './past.ts'

const NONE_COST = 'receipt=proof is 503 unless another endpoint proves'
const OLD_COST = 'receipt=proof of an older block is 503 unless another endpoint proves it'
const HINTS_COST = 'the proof of one position takes 16 round trips instead of 4'

/** Examines how old a block the endpoint proves, and how it lists what a call reads. Unclear results count as no. */
export async function examineProofs(
  endpoint: Endpoint,
  { head, clock }: { readonly head: PinnedBlock; readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { chainId, hash: blockHash } = head
  /** The oldest block with a proof so far. */
  let oldest = head
  let reason = ''
  const canProve = async (at: bigint): Promise<boolean> => {
    try {
      const block = at === head.number ? head : await readHeader(endpoint, { chainId, at }, signal)
      const isProven = block !== undefined && (await canProveBlock(endpoint, block.hash, signal))
      if (isProven && block.number < oldest.number) oldest = block
      return isProven
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof UnprovenError) reason = `, because ${error.message}`
      return false
    }
  }
  if (!(await canProve(head.number))) return [warningFinding('proofs', `none${reason}`, NONE_COST)]
  const depth = await searchDepth(head.number, canProve)
  const hintMethod = await findHintMethod(endpoint, { blockHash, nowMs: clock.monotonicMs() }, signal)
  return [
    depth === 'all'
      ? okFinding('proofs', 'all blocks (archive)')
      : warningFinding('proofs', `${formatDepth(depth)}${formatAge(oldest, head)}`, OLD_COST),
    hintMethod === undefined ? warningFinding('proof hints', 'none', HINTS_COST) : okFinding('proof hints', hintMethod),
  ]
}

function formatDepth(depth: bigint): string {
  return depth === 0n ? 'at least the newest block' : `at least ${formatThousands(depth)} blocks`
}

/** Formats a block's age; empty for the newest block. */
function formatAge({ timestampSec }: PinnedBlock, head: PinnedBlock): string {
  const minutes = Number(head.timestampSec - timestampSec) / 60
  const units = [
    ['days', 1_440],
    ['hours', 60],
    ['minutes', 1],
  ] as const
  const unit = units.find(([, length]) => minutes >= 2 * length)
  return unit === undefined ? '' : `, ${Math.round(minutes / unit[1])} ${unit[0]}`
}
