import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { type LensCursor, openLensPage } from '../../../chain/call/cursor.ts'
import { encodeBytes, encodeCall } from '../../../chain/call/words.ts'
import type { FeeGrowth } from '../../../finance/math/liquidity.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../../finance/price/price_sources.ts'
import { type RawToken, readToken } from '../../../finance/token/token.ts'
import type { Steps } from '../../../lib/async/turns.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'

const MANAGERS = '(address positions, address pools) managers'
const LIST = toFunctionSelector(
  `list(address wallet, bytes ids, uint256 idBytes, ${MANAGERS}, ${PRICE_SOURCES_ARGUMENT}, uint256 bytesMax)`,
)
const ONE = toFunctionSelector(`one(uint256 id, ${MANAGERS}, ${PRICE_SOURCES_ARGUMENT})`)

/** The contracts that a lens call reads. */
export interface V4Subject {
  readonly deployment: UniswapV4Deployment
  readonly prices: PriceSources
}

/** Call data for those of these ids that the wallet owns; `bytesMax` limits the answer, bytes. */
export function encodeList(
  { deployment, prices }: V4Subject,
  { wallet, ids, bytesMax }: { readonly wallet: Address; readonly ids: readonly bigint[]; readonly bytesMax: number },
): Hex {
  const { positionManager, poolManager } = deployment
  const sources = encodePriceSources(prices)
  const texts = ids.map((id) => id.toString(16))
  // Whole words would be most of the question, and nodes take gas for each byte.
  const idBytes = Math.ceil(Math.max(2, ...texts.map(({ length }) => length)) / 2)
  const packed = encodeBytes(texts.map((text) => text.padStart(2 * idBytes, '0')).join(''))
  return encodeCall(LIST, wallet, packed, BigInt(idBytes), positionManager, poolManager, sources, BigInt(bytesMax))
}

/** Call data for the position of one id, whoever owns it. */
export function encodeOne({ deployment, prices }: V4Subject, tokenId: bigint): Hex {
  const { positionManager, poolManager } = deployment
  return encodeCall(ONE, tokenId, positionManager, poolManager, encodePriceSources(prices))
}

/** What the position manager's address is: a contract may not stand yet, or not answer. */
const MANAGER_STATES = ['absent', 'answers', 'silent'] as const

const BROKEN_PARTS = [undefined, 'position', 'pool'] as const

/** The part of a position that could not be read. */
export type BrokenPart = Exclude<(typeof BROKEN_PARTS)[number], undefined>

/** One pool; tokens are places in the read's list of tokens. */
export type RawV4Pool = ReturnType<typeof readPool>

/** One position; `index` is the place of its id in the question, `pool` that of its pool in the read's list. */
export type RawV4Position = ReturnType<typeof readPosition>

/** A token with what the sources of its price answer. */
export interface RawV4Token extends RawToken {
  readonly usd: UsdAnswers
}

/** One answer of the lens. */
export interface RawRead {
  readonly block: Block
  /** Ids of the question that the answer covers. */
  readonly taken: number
  readonly manager: (typeof MANAGER_STATES)[number]
  /** How many positions the manager says that the wallet owns; 0 if only one id was asked about. */
  readonly balance: bigint
  readonly tokens: readonly RawV4Token[]
  readonly pools: readonly RawV4Pool[]
  readonly positions: readonly RawV4Position[]
  readonly broken: readonly { readonly index: number; readonly part: BrokenPart }[]
  /** Of the one position that was asked about; undefined if it does not exist, or for a list. */
  readonly owner: Address | undefined
}

/** Records decoded before other work may run. */
const STEP_RECORDS = 200

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for any other. */
export function* decodeLens(answer: Hex): Steps<RawRead> {
  const { from, block, taken } = openLensPage(answer)
  const manager = MANAGER_STATES[from.number(1)]
  if (manager === undefined) throw new UpstreamError('Cannot decode the lens: unknown state of the manager')
  const balance = from.uint(32)
  const tokens: RawV4Token[] = []
  const pools: RawV4Pool[] = []
  const positions: RawV4Position[] = []
  const broken: { readonly index: number; readonly part: BrokenPart }[] = []
  let owner: Address | undefined
  for (let records = 1, isOver = false; !isOver; records++) {
    if (records % STEP_RECORDS === 0) yield
    const tag = from.number(1)
    if (tag === 0) isOver = true
    else if (tag === 1) tokens.push({ ...readToken(from), usd: readUsdAnswers(from) })
    else if (tag === 2) pools.push(readPool(from))
    else if (tag === 3) broken.push(readBroken(from))
    else if (tag === 4 || tag === 5) positions.push(readPosition(from, tag === 4))
    else if (tag === 6) owner = from.address()
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if (!from.atEnd()) throw new UpstreamError('Cannot decode the lens: it goes on behind its end')
  if ([...positions, ...broken].some(({ index }) => index >= taken)) {
    throw new UpstreamError('Cannot decode the lens: it answers about an id that it did not take')
  }
  return { block, taken, manager, balance, tokens, pools, positions, broken, owner }
}

function readPool(from: LensCursor) {
  return {
    /** 32 bytes: keccak of the key. */
    id: from.hex(32),
    token0: from.number(2),
    token1: from.number(2),
    /** Of the key, hundredths of a bip; 0x800000 says that the hook sets it. */
    keyFee: from.number(3),
    tickSpacing: tickOf(from),
    hooks: from.address(),
    sqrtPriceX96: from.uint(20),
    tick: tickOf(from),
    /** Two times 12 bits: hundredths of a bip for swaps of token1, and of token0 (the lower bits). */
    protocolFee: from.number(3),
    /** In force, hundredths of a bip. */
    fee: from.number(3),
    global: readGrowth(from),
  }
}

function readBroken(from: LensCursor) {
  const index = from.number(2)
  const part = BROKEN_PARTS[from.number(1)]
  if (part === undefined) throw new UpstreamError('Cannot decode the lens: unknown failure')
  return { index, part }
}

function readPosition(from: LensCursor, isOpen: boolean) {
  const range = { index: from.number(2), pool: from.number(2), tickLower: tickOf(from), tickUpper: tickOf(from) }
  const liquidity = isOpen ? from.uint(16) : 0n
  return { ...range, liquidity, growth: isOpen ? readGrowths(from) : undefined }
}

function readGrowths(from: LensCursor) {
  return {
    /** Within the range, when the position was last changed. */
    insideLast: readGrowth(from),
    /** Outside of it, at both ends. */
    lower: readGrowth(from),
    upper: readGrowth(from),
  }
}

function readGrowth(from: LensCursor): FeeGrowth {
  return { growth0: from.uint(32), growth1: from.uint(32) }
}

function tickOf(from: LensCursor): number {
  return (from.number(3) << 8) >> 8
}
