import { blockAgeMaxSec } from '../../chain/block_age.ts'
import type { Chain } from '../../chain/chain.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { FinalMark } from '../coverage.ts'
import { readHeaderIfAny } from './agreed_tip.ts'

/**
 * The common verdict of all endpoints on a block that was final: they have it, they have another one, or their chain is
 * shorter. `open`: they differ or are silent.
 */
type MarkVerdict = 'same' | 'replaced' | 'beyond' | 'open'

/** Blocks that a node may lag behind if the chain's block time is unknown. */
const LAG_BLOCKS = 1_000

/** Compares a block that was final with the chain of every usable endpoint. */
export async function checkFinalBlock(client: ChainClient, mark: FinalMark, signal: AbortSignal): Promise<MarkVerdict> {
  const {
    chain: { id: chainId },
    clock,
  } = client
  const usableEndpoints = client.background.filter(({ usable }) => usable)
  const verdicts = await Promise.all(
    usableEndpoints.map(async (endpoint): Promise<MarkVerdict> => {
      const header = await readHeaderIfAny(endpoint, { chainId, at: BigInt(mark.number), clock }, signal)
      if (header === 'silent') return 'open'
      if (header !== undefined) return header.hash === mark.hash ? 'same' : 'replaced'
      const head = await readHeaderIfAny(endpoint, { chainId, at: 'latest', clock }, signal)
      const isBeyond =
        head !== undefined && head !== 'silent' && Number(head.number) + computeLagMax(client.chain) < mark.number
      return isBeyond ? 'beyond' : 'open'
    }),
  )
  const [first = 'open', ...otherVerdicts] = verdicts
  if (otherVerdicts.every((each) => each === first)) return first
  // No endpoint has the block; the chains of some are shorter.
  return verdicts.every((each) => each === 'replaced' || each === 'beyond') ? 'replaced' : 'open'
}

/** Maximum number of blocks that a node may lag behind and still count as fresh. */
function computeLagMax(chain: Chain): number {
  const { blockTimeMs } = chain
  return blockTimeMs === undefined ? LAG_BLOCKS : Math.ceil((blockAgeMaxSec(chain) * 1_000) / blockTimeMs)
}
