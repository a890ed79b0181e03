import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import { searchDepth } from '../../chain/past/state_depth.ts'
import { canProveBlock } from '../../chain/receipt/proof/can_prove_block.ts'
import { UnprovenError } from '../../chain/receipt/proof/collect.ts'
import { findHintMethod } from '../../chain/receipt/proof/hint.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { formatThousands } from './past.ts'

const NONE_COST = 'receipt=proof is 503 unless another endpoint proves'
const OLD_COST = 'receipt=proof of an older block is 503 unless another endpoint proves it'
const HINTS_COST = 'the proof of one position takes 16 round trips in place of 4'

/** How old a block the endpoint proves, and how it says what a call reads. Doubts count as no. */
export async function examineProofs(
  endpoint: Endpoint,
  { head, clock }: { readonly head: PinnedBlock; readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { chainId, hash: blockHash } = head
  /** The oldest block that it is known to prove. */
  let oldest = head
  let because = ''
  const proves = async (at: bigint): Promise<boolean> => {
    try {
      const block = at === head.number ? head : await readHeader(endpoint, { chainId, at }, signal)
      const isProven = block !== undefined && (await canProveBlock(endpoint, block.hash, signal))
      if (isProven && block.number < oldest.number) oldest = block
      return isProven
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof UnprovenError) because = `, because ${error.message}`
      return false
    }
  }
  if (!(await proves(head.number))) return [warningFinding('proofs', `none${because}`, NONE_COST)]
  const depth = await searchDepth(head.number, proves)
  const by = await findHintMethod(endpoint, { blockHash, nowMs: clock.monotonicMs() }, signal)
  return [
    depth === 'all'
      ? okFinding('proofs', 'of every block')
      : warningFinding('proofs', `${textOf(depth)}${ageOf(oldest, head)}`, OLD_COST),
    by === undefined ? warningFinding('proof hints', 'none', HINTS_COST) : okFinding('proof hints', by),
  ]
}

function textOf(depth: bigint): string {
  return depth === 0n
    ? 'of the newest block, or some more'
    : `of the last ${formatThousands(depth)} blocks, or some more`
}

/** How old a block is, in words; nothing for the newest. */
function ageOf({ timestampSec }: PinnedBlock, head: PinnedBlock): string {
  const minutes = Number(head.timestampSec - timestampSec) / 60
  const units = [
    ['days', 1_440],
    ['hours', 60],
    ['minutes', 1],
  ] as const
  const found = units.find(([, length]) => minutes >= 2 * length)
  return found === undefined ? '' : `, ${Math.round(minutes / found[1])} ${found[0]}`
}
