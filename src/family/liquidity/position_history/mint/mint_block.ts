import type { Address } from 'viem'
import { toLowerHex } from '../../../../chain/call/words.ts'
import { DisputeError, isCacheableForever } from '../../../../chain/past/quorum.ts'
import type { ChainClient } from '../../../../chain/rpc/client.ts'
import type { Range } from '../../../../history/range.ts'
import { decodeMints, type Mint, type MintBracket, mintFilter, narrowBracket, nextWindow } from './mint_search.ts'
import { readWitnessedLogs } from './witnessed_logs.ts'

/** A position, and the blocks that its mint is searched in. */
interface MintQuery {
  readonly client: ChainClient
  /** The contract that numbers positions, and a block before which it has no events. */
  readonly deployment: { readonly manager: Address; readonly startBlock: number }
  readonly tokenId: bigint
  /** The newest block. */
  readonly toBlock: number
}

/**
 * Finds a block before which the position did not exist: that of its mint, or an earlier one if the search takes too
 * long. Undefined if no position of that id was minted. Reads each window from two endpoints at the same time. Throws
 * as `readByQuorum`.
 */
type FindMint = (query: MintQuery, signal: AbortSignal) => Promise<number | undefined>

/** Length of the first and of the longest window, blocks: endpoints without a stated cap still have limits. */
const BLOCKS_FIRST = 500
const BLOCKS_MAX = 10_000
/** Most windows of a search, about three times what a busy manager needs. */
const PROBES_MAX = 60
/** Most mints of one manager that are cached. */
const KNOWN_MAX = 4_096

/** Creates a finder of mints, which caches mints that it reads on the way. */
export function createMintFinder(): FindMint {
  const mintsByManager = new Map<string, Mint[]>()

  function readMints({ client, deployment }: MintQuery, range: Range, signal: AbortSignal) {
    const filter = mintFilter(toLowerHex(deployment.manager))
    const what = `the mints from block ${range.fromBlock} to ${range.toBlock}`
    return readWitnessedLogs({ client, filter, range, what, decodeRows: decodeMints, toText: toMintText }, signal)
  }

  /** Reads the mint's block alone, which endpoints that accept only short windows can serve too. */
  async function confirmBlock(query: MintQuery, block: number, signal: AbortSignal): Promise<number> {
    const { client, tokenId } = query
    const result = await readMints(query, { fromBlock: block, toBlock: block }, signal)
    if ('blocks' in result || result.rows.some((mint) => mint.tokenId === tokenId)) return block
    const { id, name } = client.chain
    throw new DisputeError(
      `Cannot believe that position ${tokenId} of chain ${id} (${name}) was minted in block ${block}: one endpoint returns ` +
        'the mint, others do not (second witness)',
    )
  }

  return async (query, signal) => {
    const { client, deployment, tokenId, toBlock } = query
    const key = `${client.chain.id}:${deployment.manager}`
    const knownMints = mintsByManager.get(key) ?? []
    mintsByManager.set(key, knownMints)
    const below = knownMints.findLast((mint) => mint.tokenId <= tokenId)
    const above = knownMints.find((mint) => mint.tokenId > tokenId)
    if (below?.tokenId === tokenId) return below.block
    const [from, to] = [below?.block ?? deployment.startBlock, above?.block ?? toBlock]
    let bracket: MintBracket = { tokenId, from, to, below, above }
    let [blocks, cap] = [BLOCKS_FIRST, BLOCKS_MAX]
    let isAgreed = true
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      if (bracket.from > bracket.to) return undefined
      const window = nextWindow(bracket, { blocks, probes })
      const result = await readMints(query, window, signal)
      if ('blocks' in result) {
        if (blocks === 1) break
        blocks = cap = result.blocks
        continue
      }
      const { rows: mints, witnesses } = result
      // Mints from a single endpoint must not steer later searches.
      if (isCacheableForever(client, witnesses)) remember(knownMints, mints)
      else isAgreed = false
      const next = narrowBracket(bracket, window, mints)
      if (next === undefined) break
      if (typeof next === 'number') {
        if (!isAgreed) return await confirmBlock(query, next, signal)
        remember(knownMints, [{ tokenId, block: next }])
        return next
      }
      blocks = mints.length === 0 ? Math.min(cap, blocks * 2) : Math.min(cap, BLOCKS_FIRST)
      bracket = next
    }
    return isAgreed ? bracket.from : from
  }
}

/** Adds the first and the last mint of a window, in the order of ids. */
function remember(knownMints: Mint[], mints: readonly Mint[]): void {
  for (const mint of [mints[0], mints.at(-1)]) {
    if (mint === undefined || knownMints.some(({ tokenId }) => tokenId === mint.tokenId)) continue
    const at = knownMints.findIndex(({ tokenId }) => tokenId > mint.tokenId)
    knownMints.splice(at < 0 ? knownMints.length : at, 0, mint)
  }
  if (knownMints.length > KNOWN_MAX) knownMints.splice(Math.floor(knownMints.length / 2), knownMints.length - KNOWN_MAX)
}

function toMintText({ tokenId, block }: Mint): string {
  return `${tokenId} ${block}`
}
