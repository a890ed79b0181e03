import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createLazyRecords, decodeLensPage, type LensCursor } from '../../../chain/call/cursor.ts'
import { encodeBytes, encodeCall } from '../../../chain/call/words.ts'
import { encodePriceSources, PRICE_SOURCES_ARGUMENT, type PriceSources } from '../../../finance/price/price_sources.ts'
import type { Steps } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { type RawPricedToken, readGrowth, readPricedToken, readTick } from '../../liquidity/list/records.ts'
import type { UniswapV4Deployment } from '../table.ts'

const MANAGERS = '(address positions, address pools) managers'
const LIST = toFunctionSelector(
  `list(address wallet, bytes ids, uint256 idBytes, ${MANAGERS}, ${PRICE_SOURCES_ARGUMENT}, uint256 bytesMax)`,
)
const NAMED = toFunctionSelector(
  `named(bytes ids, uint256 idBytes, ${MANAGERS}, ${PRICE_SOURCES_ARGUMENT}, uint256 bytesMax)`,
)

/** The contracts that a lens call reads. */
export interface V4LensContracts {
  readonly deployment: UniswapV4Deployment
  readonly prices: PriceSources
}

/** Encodes the call that reads those of the ids that the wallet owns; `bytesMax` limits the answer, bytes. */
export function encodeList(
  { deployment, prices }: V4LensContracts,
  { wallet, ids, bytesMax }: { readonly wallet: Address; readonly ids: readonly bigint[]; readonly bytesMax: number },
): Hex {
  const { positionManager, poolManager } = deployment
  const sources = encodePriceSources(prices)
  const { packed, idBytes } = packIds(ids)
  return encodeCall(LIST, wallet, packed, idBytes, positionManager, poolManager, sources, BigInt(bytesMax))
}

/** Encodes the call that reads the positions of ids, of any owner; `bytesMax` limits the answer, bytes. */
export function encodeNamed(
  { deployment, prices }: V4LensContracts,
  { ids, bytesMax }: { readonly ids: readonly bigint[]; readonly bytesMax: number },
): Hex {
  const { positionManager, poolManager } = deployment
  const { packed, idBytes } = packIds(ids)
  const sources = encodePriceSources(prices)
  return encodeCall(NAMED, packed, idBytes, positionManager, poolManager, sources, BigInt(bytesMax))
}

/** Packs ids: whole words would be most of the call data, and nodes charge gas for each byte. */
function packIds(ids: readonly bigint[]) {
  const texts = ids.map((id) => id.toString(16))
  const idBytes = Math.ceil(Math.max(2, ...texts.map(({ length }) => length)) / 2)
  return {
    packed: encodeBytes(texts.map((text) => text.padStart(2 * idBytes, '0')).join('')),
    idBytes: BigInt(idBytes),
  }
}

/** State of the position manager's address: without code yet, answering, or not answering. */
const MANAGER_STATES = ['absent', 'answers', 'silent'] as const

const BROKEN_PARTS = [undefined, 'position', 'pool'] as const

/** The part of a position that could not be read. */
type BrokenPart = Exclude<(typeof BROKEN_PARTS)[number], undefined>

/** One pool; its tokens are indexes of the read's list of tokens. */
export type RawV4Pool = ReturnType<typeof readPool>

/** One position; `pool` is the index of its pool in the read's list. */
export type RawV4Position = ReturnType<typeof readPosition>

/** The part of a position that sorting and counting a list need. */
type RawV4Brief = Pick<RawV4Position, 'tokenId' | 'pool' | 'liquidity'>

/** A position of a list, decoded in full on demand because few of a list are shown. */
export interface RawV4Listed extends RawV4Brief {
  whole(): RawV4Position
}

/** A position that exists but could not be read in full. */
interface BrokenPosition {
  readonly tokenId: bigint
  readonly part: BrokenPart
}

/** One answer of the lens. */
export interface RawRead<Position extends RawV4Brief = RawV4Position> {
  readonly block: Block
  /** Number of requested ids that the answer covers. */
  readonly taken: number
  readonly manager: (typeof MANAGER_STATES)[number]
  /** The wallet's balance by the manager; 0 if ids of any owner were requested. */
  readonly balance: bigint
  readonly tokens: readonly RawPricedToken[]
  readonly pools: readonly RawV4Pool[]
  readonly positions: readonly Position[]
  readonly broken: readonly BrokenPosition[]
}

/** Records decoded before other work may run. */
const STEP_RECORDS = 200

/**
 * Decodes the lens' answer about `ids`, which it names by index. The head of `lens.sol` describes the layout. Throws
 * `UpstreamError` for any other layout.
 */
export function decodeLens(answer: Hex, ids: readonly bigint[]): Steps<RawRead> {
  return decode(answer, ids, readPosition)
}

/** Decodes the lens' answer as a list, whose positions are decoded in full on demand. Throws as `decodeLens`. */
export function* decodeList(answer: Hex, ids: readonly bigint[]): Steps<RawRead<RawV4Listed>> {
  const records = createLazyRecords()
  const list = yield* decode(answer, ids, (from, { isOpen, getId }): RawV4Listed => {
    const start = from.getPosition()
    const brief = readBrief(from, { isOpen, getId })
    return {
      ...brief,
      whole: records.keep(from, start, (record) => readPosition(record, { isOpen, getId })),
    }
  })
  records.join()
  return list
}

/** Context of decoding the record of a position. */
interface PositionRecord {
  /** True with liquidity. */
  readonly isOpen: boolean
  /** Returns the requested id at an index. */
  readonly getId: (index: number) => bigint
  /** Undefined in a wallet's list. */
  readonly owner?: Address | undefined
}

function* decode<Position extends RawV4Brief>(
  answer: Hex,
  ids: readonly bigint[],
  read: (from: LensCursor, record: PositionRecord) => Position,
): Steps<RawRead<Position>> {
  const { from, block, taken } = decodeLensPage(answer)
  const manager = MANAGER_STATES[from.number(1)]
  if (manager === undefined) throw new UpstreamError('Cannot decode the lens: unknown state of the manager')
  const balance = from.uint(32)
  const tokens: RawPricedToken[] = []
  const pools: RawV4Pool[] = []
  const positions: Position[] = []
  const broken: BrokenPosition[] = []
  const getId = (index: number): bigint => {
    const id = index < taken ? ids[index] : undefined
    if (id === undefined) throw new UpstreamError('Cannot decode the lens: a record refers to an id that was not taken')
    return id
  }
  let owner: Address | undefined
  for (let records = 1, isOver = false; !isOver; records++) {
    if (records % STEP_RECORDS === 0) yield
    const tag = from.number(1)
    if (tag === 0) isOver = true
    else if (tag === 1) tokens.push(readPricedToken(from))
    else if (tag === 2) pools.push(readPool(from))
    else if (tag === 3) broken.push(readBroken(from, getId))
    else if (tag === 4 || tag === 5) positions.push(read(from, { isOpen: tag === 4, getId, owner }))
    else if (tag === 6) owner = from.address()
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if (!from.isAtEnd()) throw new UpstreamError('Cannot decode the lens: bytes follow the end record')
  return { block, taken, manager, balance, tokens, pools, positions, broken }
}

function readPool(from: LensCursor) {
  return {
    /** 32 bytes: keccak of the key. */
    id: from.hex(32),
    token0: from.number(2),
    token1: from.number(2),
    /** Fee in the key, hundredths of a bip; 0x800000 if the hook sets it. */
    keyFee: from.number(3),
    tickSpacing: readTick(from),
    hooks: from.address(),
    sqrtPriceX96: from.uint(20),
    tick: readTick(from),
    /** Two fees of 12 bits, hundredths of a bip: for swaps of token1, and of token0 (the lower bits). */
    protocolFee: from.number(3),
    /** Fee in force, hundredths of a bip. */
    fee: from.number(3),
    global: readGrowth(from),
  }
}

function readBroken(from: LensCursor, getId: PositionRecord['getId']): BrokenPosition {
  const tokenId = getId(from.number(2))
  const part = BROKEN_PARTS[from.number(1)]
  if (part === undefined) throw new UpstreamError('Cannot decode the lens: unknown failure')
  return { tokenId, part }
}

function readPosition(from: LensCursor, { isOpen, getId, owner }: PositionRecord) {
  return {
    owner,
    tokenId: getId(from.number(2)),
    pool: from.number(2),
    tickLower: readTick(from),
    tickUpper: readTick(from),
    liquidity: isOpen ? from.uint(16) : 0n,
    growth: isOpen ? readGrowths(from) : undefined,
  }
}

/** Decodes the part of a position's record that a list needs, and skips the rest. */
function readBrief(from: LensCursor, { isOpen, getId }: PositionRecord): RawV4Brief {
  const [tokenId, pool] = [getId(from.number(2)), from.number(2)]
  from.skip(3 + 3)
  const liquidity = isOpen ? from.uint(16) : 0n
  if (isOpen) from.skip(3 * 64)
  return { tokenId, pool, liquidity }
}

function readGrowths(from: LensCursor) {
  return {
    /** Growth within the range at the position's last change. */
    insideLast: readGrowth(from),
    /** Growth outside of the range, at both ends. */
    lower: readGrowth(from),
    upper: readGrowth(from),
  }
}
