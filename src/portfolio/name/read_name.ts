import { type Address, encodeFunctionData, parseAbi, zeroAddress } from 'viem'
import type { Block } from '../../chain/block.ts'
import { createBlockCache, type WithExpiry } from '../../chain/block_cache.ts'
import { decodeLensPage } from '../../chain/call/cursor.ts'
import { type LensReading, readByLens } from '../../chain/call/lens.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { computeNamehashes, encodeDnsName } from './name.ts'

const CACHE_ENTRIES_MAX = 1_000
const ABI = parseAbi(['function read(bytes name, bytes32[] nodes)'])

/** Why a name has no address, by the outcome number of `lens.sol`; empty for the outcome with an address. */
const REASONS = [
  'it is not registered, or it has no resolver',
  '',
  'it is resolved outside the chain, and such look-ups are not followed',
  'its resolver does not answer',
  'the chain has no contracts of ENS',
] as const
const NO_ADDRESS = 'it is registered, but has no Ethereum address'

/** The wallet of a name at a block, or why there is none. */
export type NameResult = { readonly block: Block } & ({ readonly wallet: Address } | { readonly unresolved: string })

/** Resolves a normalized name at the newest block, in one request. Throws like `ChainClient.read`. */
export type NameReader = (name: string, signal: AbortSignal) => Promise<WithExpiry<NameResult>>

/** Creates a reader over the chain of ENS' contracts. */
export function createNameReader(options: { readonly client: ChainClient; readonly clock: Clock }): NameReader {
  const { client, clock } = options
  const { chain } = client
  const cache = createBlockCache<NameResult>({ clock, entriesMax: CACHE_ENTRIES_MAX })

  return (name, signal) => {
    const data = encodeFunctionData({
      abi: ABI,
      functionName: 'read',
      args: [encodeDnsName(name), computeNamehashes(name)],
    })
    const lensQuery: LensReading<NameResult> = {
      topic: 'ens',
      runtime: LENS_RUNTIME,
      chainId: chain.id,
      clock,
      async read({ call, observeBlock }) {
        const { from, block } = decodeLensPage(await call({ data, block: 'latest' }))
        observeBlock(block)
        const unresolved = REASONS[from.number(1)]
        const wallet = from.address()
        if (unresolved === undefined) throw new UpstreamError('Cannot decode the lens: unknown outcome')
        if (unresolved !== '') return { block, unresolved }
        return wallet === zeroAddress ? { block, unresolved: NO_ADDRESS } : { block, wallet }
      },
    }
    const read = (shared: AbortSignal) =>
      client.read((endpoint, within) => readByLens(endpoint, lensQuery, within), { signal: shared })
    return cache.reuse({ chain, key: name, read }, signal)
  }
}
