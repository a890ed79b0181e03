import type { Address } from 'viem'
import { toLowerHex } from '../../../../chain/call/words.ts'
import { DisputeError, isCacheableForever } from '../../../../chain/past/quorum.ts'
import type { ChainClient } from '../../../../chain/rpc/client.ts'
import type { Range } from '../../../../history/range.ts'
import { decodeMints, type Mint, type MintBracket, mintFilter, narrowBracket, nextWindow } from './mint_search.ts'
import { readWitnessedLogs } from './witnessed_logs.ts'

/** Where a position may be looked for. */
interface MintQuestion {
  readonly client: ChainClient
  /** What numbers positions, and a block before which it has no events. */
  readonly deployment: { readonly manager: Address; readonly startBlock: number }
  readonly tokenId: bigint
  /** The newest block. */
  readonly toBlock: number
}

/**
 * A block before which the position was not there: that of its mint, or an earlier one if finding it takes too long.
 * Undefined if no position of that id was ever minted. Two endpoints are asked for each window at the same time. Throws
 * as `readByQuorum`.
 */
type FindMint = (question: MintQuestion, signal: AbortSignal) => Promise<number | undefined>

/** Length of the first window, and of the longest: endpoints without caps still have limits. */
const BLOCKS_FIRST = 500
const BLOCKS_MAX = 10_000
/** About three times what a search of a busy manager needs. */
const PROBES_MAX = 60
/** Mints that are remembered of one manager. */
const KNOWN_MAX = 4_096

/** Makes a finder of mints, which remembers those that it saw on the way. */
export function createMintFinder(): FindMint {
  const memory = new Map<string, Mint[]>()

  function look({ client, deployment }: MintQuestion, range: Range, signal: AbortSignal) {
    const filter = mintFilter(toLowerHex(deployment.manager))
    const what = `the mints from block ${range.fromBlock} to ${range.toBlock}`
    return readWitnessedLogs({ client, filter, range, what, rowsOf: decodeMints, textOf: textOfMint }, signal)
  }

  /** An endpoint that takes short windows only may still say whether the mint is in its block. */
  async function confirmed(question: MintQuestion, block: number, signal: AbortSignal): Promise<number> {
    const { client, tokenId } = question
    const seen = await look(question, { fromBlock: block, toBlock: block }, signal)
    if ('blocks' in seen || seen.rows.some((mint) => mint.tokenId === tokenId)) return block
    const { id, name } = client.chain
    throw new DisputeError(
      `Cannot believe that position ${tokenId} of chain ${id} (${name}) was minted in block ${block}: one endpoint says ` +
        'so, others do not (second witness)',
    )
  }

  return async (question, signal) => {
    const { client, deployment, tokenId, toBlock } = question
    const key = `${client.chain.id}:${deployment.manager}`
    const known = memory.get(key) ?? []
    memory.set(key, known)
    const below = known.findLast((mint) => mint.tokenId <= tokenId)
    const above = known.find((mint) => mint.tokenId > tokenId)
    if (below?.tokenId === tokenId) return below.block
    const [from, to] = [below?.block ?? deployment.startBlock, above?.block ?? toBlock]
    let bracket: MintBracket = { tokenId, from, to, below, above }
    let [blocks, cap] = [BLOCKS_FIRST, BLOCKS_MAX]
    let isAgreed = true
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      if (bracket.from > bracket.to) return undefined
      const window = nextWindow(bracket, { blocks, probes })
      const seen = await look(question, window, signal)
      if ('blocks' in seen) {
        if (blocks === 1) break
        blocks = cap = seen.blocks
        continue
      }
      const { rows: mints, witnesses } = seen
      // What one endpoint alone says must not lead the searches to come.
      if (isCacheableForever(client, witnesses)) remember(known, mints)
      else isAgreed = false
      const next = narrowBracket(bracket, window, mints)
      if (next === undefined) break
      if (typeof next === 'number') {
        if (!isAgreed) return await confirmed(question, next, signal)
        remember(known, [{ tokenId, block: next }])
        return next
      }
      blocks = mints.length === 0 ? Math.min(cap, blocks * 2) : Math.min(cap, BLOCKS_FIRST)
      bracket = next
    }
    return isAgreed ? bracket.from : from
  }
}

/** Adds the first and the last mint of a window, in the order of ids. */
function remember(known: Mint[], seen: readonly Mint[]): void {
  for (const mint of [seen[0], seen.at(-1)]) {
    if (mint === undefined || known.some(({ tokenId }) => tokenId === mint.tokenId)) continue
    const at = known.findIndex(({ tokenId }) => tokenId > mint.tokenId)
    known.splice(at < 0 ? known.length : at, 0, mint)
  }
  if (known.length > KNOWN_MAX) known.splice(Math.floor(known.length / 2), known.length - KNOWN_MAX)
}

function textOfMint({ tokenId, block }: Mint): string {
  return `${tokenId} ${block}`
}
