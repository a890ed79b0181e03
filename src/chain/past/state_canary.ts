import { concatHex, type Hex, numberToHex, size, slice, toHex, zeroHash } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import type { PinnedBlock } from '../block.ts'
import { callBundled } from '../call/bundle/bundle.ts'
import { parseHeader } from '../evm/read_block.ts'
import { type Endpoint, RpcRefusedError } from '../rpc/client.ts'
import { parseBytes, parseLowerAddress, parseQuantity } from '../rpc/value.ts'

/**
 * Whether an endpoint answers from the state of a block. `proven`: it shows what only this state has. `refuted`: it
 * shows what this state cannot have. `present`: the state is not empty, but may be that of a later block. `untold`: it
 * may be empty.
 */
export type StateEvidence = 'proven' | 'refuted' | 'present' | 'untold'

/** The state of a block has the hash of the parent in its ring, and not yet the hash of the block. */
export type CanaryBlock = Pick<PinnedBlock, 'number' | 'hash' | 'parentHash'>

/** What one endpoint has shown of its chain so far. */
export interface CanaryMemory {
  /** The lowest block whose state had the ring of hashes: all later states have it. */
  ringFrom?: bigint
  /** True if the newest state has no ring whose slots are counted as EIP-2935 says. */
  hasOtherRing?: boolean
  /** The transaction of the lowest block that was asked for one: all later states count it. */
  sent?: SentTransaction
}

interface SentTransaction {
  readonly block: bigint
  readonly sender: Hex
  readonly nonce: bigint
}

/** Reads two slots of the ring at a block: the hash of its parent in its state, and that of the block itself. */
type ReadRing = (block: CanaryBlock, work: Work) => Promise<Hex>

/** Keeps the hash of each block's parent in the slot of the parent's height, modulo the length (EIP-2935). */
export const RING_ADDRESS: Hex = '0x0000f90827f1c53a10cb7a02335b175320002935'
const RING_LENGTH = 8_191n
/** Code in the ring's place: MSTORE the words of two slots, SLOAD(CALLDATALOAD), and RETURN them. */
const RING_READER = concatHex(['0x6000355460005260203554602052', '0x60406000f3'])
/** Code of a lens: CALLDATACOPY, STATICCALL of the ring, whose failure leaves zeros, and RETURN of its answer. */
const RING_LENS = concatHex(['0x60406000600037', '0x604060406040600073', RING_ADDRESS, '0x5afa50', '0x60406040f3'])

/** Kinds of transactions that senders sign: they count in the sender's nonce on every chain. */
const SIGNED_KINDS: readonly unknown[] = ['0x0', '0x1', '0x2', '0x4']
/** Blocks below one without a transaction that are asked for one, as distances and as shares of the height. */
const DISTANCES = [1n, 2n, 4n, 8n, 64n, 4_096n] as const
const DIVISORS = [2n, 4n, 8n, 16n] as const

/**
 * Examines whether an endpoint answers from the state of a block. The ring of block hashes differs in each state, and
 * the call shares the `eth_call` of other light calls at the block. Where a state has no ring, the nonce of a sender
 * tells: it rises with a transaction of the block, and the state of an earlier one is at least not empty. Throws as
 * `Endpoint.call`.
 */
export function examineState(
  endpoint: Endpoint,
  query: { readonly block: CanaryBlock; readonly memory: CanaryMemory },
  work: Work,
): Promise<StateEvidence> {
  const readRing: ReadRing = (block, within) =>
    callBundled(
      endpoint,
      {
        runtime: RING_LENS,
        data: toSlots(block),
        block: { hash: block.hash },
        additionalCodes: { [RING_ADDRESS]: RING_READER },
      },
      within,
    )
  return examine(endpoint, { ...query, readRing }, work)
}

/** The same for an endpoint that answers requests alone. */
function examineStateByRequests(
  endpoint: Pick<Endpoint, 'request'>,
  query: { readonly block: CanaryBlock; readonly memory: CanaryMemory },
  work: Work,
): Promise<StateEvidence> {
  const readRing: ReadRing = (block, within) => {
    const overrides = { [RING_ADDRESS]: { code: RING_READER } }
    const params = [{ to: RING_ADDRESS, data: toSlots(block) }, { blockHash: block.hash }, overrides]
    return endpoint.request({ method: 'eth_call', params, parse: parseBytes }, within)
  }
  return examine(endpoint, { ...query, readRing }, work)
}

async function examine(
  endpoint: Pick<Endpoint, 'request'>,
  {
    block,
    memory,
    readRing,
  }: { readonly block: CanaryBlock; readonly memory: CanaryMemory; readonly readRing: ReadRing },
  work: Work,
): Promise<StateEvidence> {
  const words = await readRing(block, work).catch((error: unknown) => {
    if (work.signal.aborted || !(error instanceof RpcRefusedError)) throw error
    return readStoredWords(endpoint, block, work)
  })
  if (size(words) !== 64) return await examineNonce(endpoint, { block, memory }, work)
  if (slice(words, 32) === block.hash) return 'refuted'
  if (slice(words, 0, 32) === block.parentHash) {
    if (memory.ringFrom === undefined || block.number < memory.ringFrom) memory.ringFrom = block.number
    return 'proven'
  }
  if (memory.ringFrom !== undefined && memory.ringFrom <= block.number) return 'refuted'
  // A state without a ring has nothing in its slots, so another hash there is that of a later state.
  const hasHash = slice(words, 0, 32) !== zeroHash
  if (hasHash && (await hasRing(endpoint, { memory, readRing }, work))) return 'refuted'
  return await examineNonce(endpoint, { block, memory }, work)
}

/** True if the newest state has a ring of the known kind. */
async function hasRing(
  endpoint: Pick<Endpoint, 'request'>,
  { memory, readRing }: { readonly memory: CanaryMemory; readonly readRing: ReadRing },
  work: Work,
): Promise<boolean> {
  if (memory.ringFrom === undefined && memory.hasOtherRing === undefined) {
    const params = ['latest', false]
    const parse = (result: unknown) => parseHeader(result, 'latest')
    const newest = await endpoint.request({ method: 'eth_getBlockByNumber', params, parse }, work)
    if (newest === undefined) return false
    const isKnown = slice(await readRing(newest, work), 0, 32) === newest.parentHash
    if (isKnown) memory.ringFrom = newest.number
    memory.hasOtherRing = !isKnown
  }
  return memory.ringFrom !== undefined
}

function toSlots({ number }: CanaryBlock): Hex {
  return concatHex([number - 1n, number].map((each) => numberToHex(each % RING_LENGTH, { size: 32 })))
}

/** Reads the slots one by one, from an endpoint that supports no state override. */
async function readStoredWords(
  endpoint: Pick<Endpoint, 'request'>,
  { number, hash }: CanaryBlock,
  work: Work,
): Promise<Hex> {
  const words = [number - 1n, number].map((each) => {
    const params = [RING_ADDRESS, toHex(each % RING_LENGTH), { blockHash: hash }]
    return endpoint.request({ method: 'eth_getStorageAt', params, parse: parseQuantity }, work)
  })
  return concatHex((await Promise.all(words)).map((word) => numberToHex(word, { size: 32 })))
}

/** Examines a state by the nonce of a sender: higher than in a transaction that it has, and not yet in its parent. */
async function examineNonce(
  endpoint: Pick<Endpoint, 'request'>,
  { block, memory }: { readonly block: CanaryBlock; readonly memory: CanaryMemory },
  work: Work,
): Promise<StateEvidence> {
  const { number } = block
  const own = await readTransaction(endpoint, number, work)
  const known = memory.sent !== undefined && memory.sent.block <= number ? memory.sent : undefined
  const sent = own ?? known ?? (await findEarlier(endpoint, number, work))
  if (sent === undefined) return 'untold'
  if (memory.sent === undefined || sent.block < memory.sent.block) memory.sent = sent
  const readNonce = (at: bigint) => {
    const params = [sent.sender, toHex(at)]
    return endpoint.request({ method: 'eth_getTransactionCount', params, parse: parseQuantity }, work)
  }
  const [nonce, before] = await Promise.all([readNonce(number), own && readNonce(number - 1n)])
  if (nonce <= sent.nonce || (before !== undefined && before > sent.nonce)) return 'refuted'
  return before === undefined ? 'present' : 'proven'
}

/** Finds a transaction in some block below one that has none. */
async function findEarlier(
  endpoint: Pick<Endpoint, 'request'>,
  number: bigint,
  work: Work,
): Promise<SentTransaction | undefined> {
  const blocks = [...DISTANCES.map((each) => number - each), ...DIVISORS.map((each) => number / each)]
  const distinct = [...new Set(blocks)].filter((each) => each > 0n && each < number)
  const found = await Promise.all(distinct.map((each) => readTransaction(endpoint, each, work)))
  return found.filter((each) => each !== undefined).sort((a, b) => (a.block < b.block ? -1 : 1))[0]
}

/** Reads the first signed transaction of a block; undefined if none of its first two is. */
async function readTransaction(
  endpoint: Pick<Endpoint, 'request'>,
  block: bigint,
  work: Work,
): Promise<SentTransaction | undefined> {
  // Rollups begin each block with a transaction of their own.
  const [first, second] = await Promise.all(['0x0', '0x1'].map((index) => readSigned(endpoint, { block, index }, work)))
  return first ?? second
}

function readSigned(
  endpoint: Pick<Endpoint, 'request'>,
  { block, index }: { readonly block: bigint; readonly index: string },
  work: Work,
): Promise<SentTransaction | undefined> {
  const parse = (result: unknown): SentTransaction | undefined => {
    const { type = '0x0', from, nonce, blockNumber, r } = (result ?? {}) as Readonly<Record<string, unknown>>
    // Transactions of a chain itself have another kind, or a signature of small numbers.
    if (!SIGNED_KINDS.includes(type) || typeof r !== 'string' || r.length < SIGNATURE_DIGITS_MIN) return undefined
    if (parseQuantity(blockNumber) !== block) throw new TypeError('Cannot read the transaction: it is of another block')
    return { block, sender: parseLowerAddress(from), nonce: parseQuantity(nonce) }
  }
  const params = [toHex(block), index]
  return endpoint.request({ method: 'eth_getTransactionByBlockNumberAndIndex', params, parse }, work)
}

/** A random number of 32 bytes never has so few digits. */
const SIGNATURE_DIGITS_MIN = 34

/** An address without a key or a contract, so requests about it are cheap. */
export const UNUSED_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6e6f6e'
/** Depths to probe, blocks before the head; the first block is probed before them. */
const DEPTHS = [100n, 1_000n, 10_000n, 100_000n, 1_000_000n] as const
const FIRST_BLOCK = 1n

/**
 * Reads how many blocks back the endpoint has state, with a few small requests at each of at most six blocks. A state
 * counts unless the endpoint fails or shows another one: of a block that says nothing the endpoint is believed, but
 * then not of those above it that do.
 */
export async function readStateDepth(
  endpoint: Pick<Endpoint, 'request'>,
  head: bigint,
  work: Work,
): Promise<bigint | 'all'> {
  const memory: CanaryMemory = {}
  /** Whether the endpoint has the state of a block; undefined if only its word says so. */
  const hasState = async (number: bigint): Promise<boolean | undefined> => {
    const params = [UNUSED_ADDRESS, toHex(number)]
    try {
      await endpoint.request({ method: 'eth_getBalance', params, parse: parseQuantity }, work)
    } catch (error) {
      if (work.signal.aborted) throw error
      return false
    }
    try {
      const parse = (result: unknown) => parseHeader(result, number)
      const block = await endpoint.request(
        { method: 'eth_getBlockByNumber', params: [toHex(number), false], parse },
        work,
      )
      const evidence = block && (await examineStateByRequests(endpoint, { block, memory }, work))
      return evidence === 'proven' ? true : evidence === 'refuted' ? false : undefined
    } catch (error) {
      if (work.signal.aborted) throw error
      return undefined
    }
  }
  let isFirstUntold = false
  const depth = await searchDepth(head, async (block) => {
    const verdict = await hasState(block)
    // The first block has nothing to show on most chains: then the blocks below the head decide.
    if (verdict === undefined && block === FIRST_BLOCK) isFirstUntold = true
    return verdict ?? block !== FIRST_BLOCK
  })
  const deepest = DEPTHS.findLast((each) => each < head) ?? 0n
  return isFirstUntold && depth === deepest ? 'all' : depth
}

/** Searches how many blocks back `holds` is true, without testing the head; `all` if it is true at the first block. */
export async function searchDepth(head: bigint, holds: (block: bigint) => Promise<boolean>): Promise<bigint | 'all'> {
  if (await holds(FIRST_BLOCK < head ? FIRST_BLOCK : head)) return 'all'
  let deepest = 0n
  for (const depth of DEPTHS) {
    if (depth >= head || !(await holds(head - depth))) break
    deepest = depth
  }
  return deepest
}
