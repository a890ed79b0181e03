import type { Address } from 'viem'
import { DisputeError, isLasting, readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import { LogsRefusedError } from '../../../../history/logs/refusal.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { Range } from '../../../../history/range.ts'
import { type Mint, type MintBracket, mintFilter, mintsOf, narrowed, nextWindow } from './mint_search.ts'

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

interface Seen {
  readonly mints: readonly Mint[]
  /** How many different endpoints gave them. */
  readonly witnesses: number
}

/** Makes a finder of mints, which remembers those that it saw on the way. */
export function createMintFinder(): FindMint {
  const memory = new Map<string, Mint[]>()

  /** The mints of a window, and how many endpoints gave them; or how long a window may be, if none gives them. */
  async function look(
    { client, deployment }: MintQuestion,
    window: Range,
    signal: AbortSignal,
  ): Promise<Seen | { readonly blocks: number }> {
    const filter = mintFilter(deployment.manager.toLowerCase() as Address)
    const half = Math.ceil((window.toBlock - window.fromBlock + 1) / 2)
    let blocks: number | undefined
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<readonly Mint[]> => {
      try {
        return mintsOf(await createLogSource(endpoint, client.chain.id).logs(filter, window, within))
      } catch (error) {
        const reaction = error instanceof LogsRefusedError ? error.reaction : undefined
        if (reaction?.kind === 'late') blocks ??= half
        if (reaction?.kind === 'range' || reaction?.kind === 'results') {
          blocks = Math.min(blocks ?? half, reaction.blocks ?? half)
        }
        throw error
      }
    }
    const what = `the mints from block ${window.fromBlock} to ${window.toBlock}`
    try {
      const { value, endpoints } = await readByQuorum(client, attempt, { signal, what, textOf: textOfMints })
      return { mints: value, witnesses: endpoints.length }
    } catch (error) {
      if (blocks === undefined || error instanceof DisputeError) throw error
      return { blocks }
    }
  }

  /** An endpoint that takes short windows only may still say whether the mint is in its block. */
  async function confirmed(question: MintQuestion, block: number, signal: AbortSignal): Promise<number> {
    const { client, tokenId } = question
    const seen = await look(question, { fromBlock: block, toBlock: block }, signal)
    if ('blocks' in seen || seen.mints.some((mint) => mint.tokenId === tokenId)) return block
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
        blocks = cap = Math.max(1, seen.blocks)
        continue
      }
      const { mints, witnesses } = seen
      // What one endpoint alone says must not lead the searches to come.
      if (isLasting(client, witnesses)) remember(known, mints)
      else isAgreed = false
      const next = narrowed(bracket, window, mints)
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

function textOfMints(mints: readonly Mint[]): string {
  return mints.map(({ tokenId, block }) => `${tokenId} ${block}`).join()
}
