import { blockAgeMaxSec } from '../../chain/block_age.ts'
import type { Chain } from '../../chain/chain.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { FinalMark } from '../coverage.ts'
import { readHeaderIfAny } from './agreed_tip.ts'

/**
 * What all endpoints together say about a block that was final: that it is theirs, that it is not, that the chain has not
 * got so far, or different things, silence among them.
 */
type MarkVerdict = 'same' | 'replaced' | 'beyond' | 'open'

/** Blocks that a node may lag behind if the chain's block time is unknown. */
const LAG_BLOCKS = 1_000

/** Asks every endpoint that works for a block that was final. */
export async function checkFinalBlock(client: ChainClient, mark: FinalMark, signal: AbortSignal): Promise<MarkVerdict> {
  const { id: chainId } = client.chain
  const asked = client.background.filter(({ usable }) => usable)
  const verdicts = await Promise.all(
    asked.map(async (endpoint): Promise<MarkVerdict> => {
      const header = await readHeaderIfAny(endpoint, { chainId, at: BigInt(mark.number) }, signal)
      if (header === 'silent') return 'open'
      if (header !== undefined) return header.hash === mark.hash ? 'same' : 'replaced'
      const head = await readHeaderIfAny(endpoint, { chainId, at: 'latest' }, signal)
      const isFar = head !== undefined && head !== 'silent' && Number(head.number) + lagOf(client.chain) < mark.number
      return isFar ? 'beyond' : 'open'
    }),
  )
  const [first = 'open', ...others] = verdicts
  if (others.every((each) => each === first)) return first
  // No endpoint has it; some have not got so far.
  return verdicts.every((each) => each === 'replaced' || each === 'beyond') ? 'replaced' : 'open'
}

/** How many blocks a node may be behind, at most, and still be young. */
function lagOf(chain: Chain): number {
  const { blockTimeMs } = chain
  return blockTimeMs === undefined ? LAG_BLOCKS : Math.ceil((blockAgeMaxSec(chain) * 1_000) / blockTimeMs)
}
