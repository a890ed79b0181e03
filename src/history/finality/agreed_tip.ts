import type { Hex } from 'viem'
import { isSameBlock, type PinnedBlock } from '../../chain/block.ts'
import { checkBlockAge } from '../../chain/block_age.ts'
import { readGrandparent } from '../../chain/call/grandparent/read_grandparent.ts'
import { type BlockId, readHeader, readLatestBlock } from '../../chain/evm/read_block.ts'
import { type BackgroundEndpoint, type ChainClient, type Endpoint, RpcRefusedError } from '../../chain/rpc/client.ts'
import { timeoutSignal } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { AbortedError, UpstreamError } from '../../lib/error.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { CandidateTip, Grandparent } from '../tip.ts'

/** The newest block of a chain, and the newest that is final, as one endpoint and those beside it say. */
export interface AgreedTip {
  readonly block: PinnedBlock
  /** Undefined if the endpoint does not tell it at once. */
  readonly grandparent: Grandparent | undefined
  readonly finalized: PinnedBlock
  /** How many different endpoints have the final block; 1 if there is one only, 0 if the others are silent. */
  readonly witnesses: 0 | 1 | 2
  /** Those that have it, by their indexes; the one that was asked first. */
  readonly holders: readonly number[]
  /** True if another endpoint has another final block, and nobody can say which is right. */
  readonly isDisputed: boolean
}

/** Nodes behind one address differ by a few blocks; a range of blocks that all of them have cannot come back empty. */
const DEPTH_MIN = 8n
/** The others are waited for this long, milliseconds, each time that they are asked. */
const WITNESS_MS = 900

/** What another endpoint says about a block: undefined if it does not have it, `silent` if it does not say. */
type TipClaim = PinnedBlock | undefined | 'silent'

/**
 * Reads the tip from an endpoint, and asks the others for the final block: no block is final that is less than eight
 * blocks below the head of one of them. `inSight` is told before they answer about that block. Throws `UpstreamError`
 * if the endpoint does not answer, or if two others have another block there.
 */
export async function readAgreedTip(
  endpoint: Endpoint,
  {
    client,
    clock,
    inSight,
  }: {
    readonly client: ChainClient
    readonly clock: Clock
    readonly inSight: (tip: CandidateTip) => void
  },
  signal: AbortSignal,
): Promise<AgreedTip> {
  const { chain } = client
  const { finality } = chain
  const others = client.background.filter(({ index, usable }) => usable && index !== endpoint.index)
  const ask = (at: BlockId) => others.map((other) => readHeaderIfAny(other, { chainId: chain.id, at }, signal))
  const nowMs = clock.now()
  const [block, older, tagged, ...heads] = await Promise.all([
    readLatestBlock(endpoint, chain.id, signal),
    // If it is silent, its headers tell as well.
    orSilent((within) => readGrandparent(endpoint, { chainId: chain.id, clock }, within), signal),
    'tag' in finality ? readHeader(endpoint, { chainId: chain.id, at: finality.tag }, signal) : undefined,
    ...ask('latest'),
  ])
  const deep = below(block.number, DEPTH_MIN)
  if ('tag' in finality && tagged === undefined) {
    throw new UpstreamError('The endpoint does not know which block is final')
  }
  const said = tagged?.number ?? below(block.number, 'depth' in finality ? BigInt(finality.depth) : 0n)
  const candidate = minBigint(said, deep)
  const young = heads.flatMap((head) => (isYoung(head, { client, nowMs }) ? head.number : []))
  // The highest first: one that is behind does not hold the others back.
  const numbers = new Set([...young].sort(descending).map((head) => minBigint(candidate, below(head, DEPTH_MIN))))
  const [finalNumber = candidate] = numbers
  // Zero stands for a hash that the node does not tell.
  const isKnown = older !== 'silent' && isSameBlock(older.of, block) && BigInt(older.hash) !== 0n
  const grandparent = isKnown ? { hash: older.hash, holder: endpoint.index } : undefined
  inSight({ block, finalNumber, grandparent })
  const alone = { block, grandparent, holders: [endpoint.index], isDisputed: false } as const
  if (young.length === 0) {
    const finalized = tagged?.number === candidate ? tagged : await headerOf(endpoint, client, candidate, signal)
    return { ...alone, finalized, witnesses: heads.includes('silent') ? 0 : 1 }
  }
  for (const number of numbers) {
    const [finalized, ...answers] = await Promise.all([headerOf(endpoint, client, number, signal), ...ask(number)])
    const given = answers.filter(isBlock)
    const differing = given.filter(({ hash }) => hash !== finalized.hash)
    if (differing.length < given.length) {
      const holders = others.filter((_, at) => hashIn(answers[at]) === finalized.hash).map(({ index }) => index)
      return { ...alone, finalized, witnesses: 2, holders: [endpoint.index, ...holders] }
    }
    if (differing.some(({ hash }, index) => differing.findIndex((each) => each.hash === hash) < index)) {
      throw new UpstreamError('The endpoint has another final block than the others')
    }
    if (differing.length > 0) return { ...alone, finalized, witnesses: 0, isDisputed: true }
  }
  return { ...alone, finalized: await headerOf(endpoint, client, candidate, signal), witnesses: 0 }
}

/** A block by its number, which the endpoint must have. */
async function headerOf(
  endpoint: Endpoint,
  { chain }: ChainClient,
  number: bigint,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  const header = await readHeader(endpoint, { chainId: chain.id, at: number }, signal)
  if (header === undefined) throw new UpstreamError('The endpoint does not have a block that was final')
  return header
}

/** A header from an endpoint that is asked beside the one that answers. */
export function readHeaderIfAny(
  endpoint: BackgroundEndpoint,
  asked: { readonly chainId: number; readonly at: BlockId },
  signal: AbortSignal,
): Promise<TipClaim> {
  return orSilent((within) => readHeader(endpoint, asked, within), signal)
}

/** What is asked of an endpoint; `silent` if it does not say it, or not in time. */
async function orSilent<T>(ask: (within: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T | 'silent'> {
  try {
    return await ask(AbortSignal.any([signal, timeoutSignal(WITNESS_MS)]))
  } catch (error) {
    const isSilence =
      error instanceof UpstreamError || error instanceof RpcRefusedError || error instanceof AbortedError
    if (!isSilence || signal.aborted) throw error
    return 'silent'
  }
}

function hashIn(said: TipClaim): Hex | undefined {
  return isBlock(said) ? said.hash : undefined
}

function isBlock(said: TipClaim): said is PinnedBlock {
  return said !== undefined && said !== 'silent'
}

/** False of a node that has stopped: it is not a witness of what is new. */
function isYoung(
  head: TipClaim,
  { client, nowMs }: { readonly client: ChainClient; readonly nowMs: number },
): head is PinnedBlock {
  if (!isBlock(head)) return false
  try {
    checkBlockAge(head, { chain: client.chain, nowMs })
    return true
  } catch (error) {
    if (error instanceof UpstreamError) return false
    throw error
  }
}

function below(number: bigint, depth: bigint): bigint {
  return number > depth ? number - depth : 0n
}

function descending(a: bigint, b: bigint): number {
  return a === b ? 0 : a < b ? 1 : -1
}
