import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../../chain/block.ts'
import { createLazyRecords, decodeLensPage, type LensCursor } from '../../../../chain/call/cursor.ts'
import { encodeArray, encodeCall, encodeRows, encodeStruct } from '../../../../chain/call/words.ts'
import {
  encodePriceSources,
  NO_PRICE_SOURCES,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
} from '../../../../finance/price/price_sources.ts'
import type { Steps } from '../../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { memoize } from '../../../../lib/memoize.ts'
import { type RawPricedToken, readGrowth, readPricedToken, readTick } from '../../list/records.ts'
import type { PositionHolder } from '../exchange.ts'

const DEPLOYMENTS = '(address[] managers, address[] factories) deployments'
const PAGE = `address wallet, ${DEPLOYMENTS}, ${PRICE_SOURCES_ARGUMENT}, uint256 offset, uint256 count, uint256 bytesMax, uint256 firstMax`
const LIST = toFunctionSelector(`list(${PAGE})`)
const LIST_REGISTERED = toFunctionSelector(
  `list(${PAGE}, (address target, uint256 known, address last, uint256 max)[] registries)`,
)
const SOME = toFunctionSelector(
  `some(address owner, uint256[] indexes, uint256[] ids, ${DEPLOYMENTS}, ${PRICE_SOURCES_ARGUMENT}, uint256 bytesMax)`,
)
const ONE = toFunctionSelector(`one(uint256 id, ${DEPLOYMENTS}, ${PRICE_SOURCES_ARGUMENT})`)

/** The contracts that a lens call reads; `holders` are its rows. */
export interface LensContracts {
  readonly prices: PriceSources
  readonly holders: readonly PositionHolder[]
  /** Registries to compare with what is known of them; absent if the deployments have none. */
  readonly registries?: readonly RegistryQuery[] | undefined
}

/** A registry of which the first `known` entries are known, the last of them `last`; at most `max` more are read. */
export interface RegistryQuery {
  readonly address: Address
  readonly known: number
  readonly last: Address
  readonly max: number
}

/** A page of a wallet's list over all managers; `bytesMax` limits the answer in bytes. */
interface ListPage {
  readonly wallet: Address
  readonly offset: number
  readonly count: number
  readonly bytesMax: number
  /**
   * Positions with liquidity of each manager, and as many without, that are read whole, in the order of enumeration; the
   * others are read in brief.
   */
  readonly firstMax: number
}

/** Encodes the call for a page of a wallet's list. */
export function encodeList(lensContracts: LensContracts, page: ListPage): Hex {
  const { wallet, offset, count, bytesMax, firstMax } = page
  const numbers = [offset, count, bytesMax, firstMax].map(BigInt)
  const asked = [wallet, ...contracts(lensContracts), ...numbers] as const
  const { registries } = lensContracts
  return registries === undefined
    ? encodeCall(LIST, ...asked)
    : encodeCall(LIST_REGISTERED, ...asked, encodeRegistries(registries))
}

/** Encodes the call for a page of the same list in brief, without prices. */
export function encodeScan(lensContracts: LensContracts, page: Omit<ListPage, 'firstMax'>): Hex {
  return encodeList({ ...lensContracts, prices: NO_PRICE_SOURCES }, { ...page, firstMax: 0 })
}

function encodeRegistries(registries: readonly RegistryQuery[]) {
  const words = registries.flatMap(({ address, known, last, max }) => [address, BigInt(known), last, BigInt(max)])
  return encodeRows(registries.length, words)
}

/** Positions by manager, an index into the holders, and id. */
export type PositionRefs = readonly { readonly manager: number; readonly tokenId: bigint }[]

/** Encodes the call for some of an owner's positions. */
export function encodeSome(
  lensContracts: LensContracts,
  { owner, refs, bytesMax }: { readonly owner: Address; readonly refs: PositionRefs; readonly bytesMax: number },
): Hex {
  const [indexes, ids] = [refs.map(({ manager }) => BigInt(manager)), refs.map(({ tokenId }) => tokenId)]
  return encodeCall(SOME, owner, encodeArray(indexes), encodeArray(ids), ...contracts(lensContracts), BigInt(bytesMax))
}

/** Encodes the call for the position of one id on every manager. */
export function encodeOne(lensContracts: LensContracts, tokenId: bigint): Hex {
  return encodeCall(ONE, tokenId, ...contracts(lensContracts))
}

function contracts({ holders, prices }: LensContracts) {
  return [encodeHolders(holders), encodePriceSources(prices)] as const
}

/** A custodian's row has the manager in place of a factory. */
const encodeHolders = memoize((holders: LensContracts['holders']) =>
  encodeStruct(
    encodeArray(holders.map(({ deployment, custodian }) => custodian?.address ?? deployment.manager)),
    encodeArray(holders.map(({ deployment, custodian }) => (custodian ? deployment.manager : deployment.factory))),
  ),
)

const BROKEN_PARTS = [undefined, 'id', 'position', 'pool', 'tick', 'owner', 'reward'] as const

/** A position that exists but could not be read in full. */
export type BrokenPosition = ReturnType<typeof readBroken>

/** Fields that a list sorts and counts positions by; `manager` is an index into the holders, `pool` one of the read's. */
export type RawBrief = ReturnType<typeof readBrief> & Rewarded

/** One position. */
export type RawPosition = ReturnType<typeof readPosition> & Rewarded

/** A reward of a position; `token` is an index into the read's list, `words` are the lens' own. */
export type RawReward = ReturnType<typeof readReward>

/** Rewards of a position; absent if it has none. */
interface Rewarded {
  readonly rewards?: readonly RawReward[]
}

/** A position of a list. Few are shown, so the other fields are decoded on demand; absent if it was read in brief. */
export interface RawListed extends RawBrief {
  whole?(): RawPosition
}

/** One pool; tokens are indexes into the read's list of tokens. */
export interface RawPool extends ReturnType<typeof readPool> {
  /** What only pools of this exchange have, the lens' own words; absent if they have nothing more or do not answer. */
  readonly words?: readonly bigint[]
}

/** A holder's answer. */
interface RawHolder {
  /** Undefined if it does not answer. */
  readonly balance: number | undefined
  /** True if it is a custodian without code. */
  readonly isAbsent?: true
}

/** A custodian that a registry lists and that was not known; `manager` is the row of its manager. */
export type RawFound = ReturnType<typeof readFound>

/** What a registry tells beyond what is known of it. */
export type RawRegistry = ReturnType<typeof readRegistry>

/** Result of one read of a chain, the same in every lens mode. */
export interface RawRead<Position extends RawBrief = RawPosition> {
  readonly block: Block
  /** In the order of the holders. */
  readonly managers: readonly RawHolder[]
  /** Entries of the wallet's list that this page covers, broken ones included. */
  readonly taken: number
  readonly tokens: readonly RawPricedToken[]
  readonly pools: readonly RawPool[]
  readonly positions: readonly Position[]
  readonly broken: readonly BrokenPosition[]
  readonly found: readonly RawFound[]
  /** In the order of the question. */
  readonly registries: readonly RawRegistry[]
}

/** Records decoded in one step, between which other work may run. Checksums of addresses take most of the time. */
const STEP_RECORDS = 200

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout. */
export function decodeLens(answer: Hex): Steps<RawRead> {
  return decode(answer, (from, tag) => (isWhole(tag) ? readPosition(from, tag === OPEN) : undefined))
}

/** Decodes the lens' answer about a list. Throws like `decodeLens`. */
export function* decodeList(answer: Hex): Steps<RawRead<RawListed>> {
  const records = createLazyRecords()
  const list = yield* decode(answer, (from, tag): RawListed | undefined => {
    if (tag === BRIEF) return readBrief(from)
    if (!isWhole(tag)) return undefined
    const [isOpen, start] = [tag === OPEN, from.getPosition()]
    const brief = readListed(from, isOpen)
    return { ...brief, whole: records.keep(from, start, (record) => readPosition(record, isOpen)) }
  })
  records.join()
  return list
}

/** Decodes the lens' answer in brief. Throws like `decodeLens`. */
export function decodeScan(answer: Hex): Steps<RawRead<RawBrief>> {
  return decode(answer, (from, tag) => (tag === BRIEF ? readBrief(from) : undefined))
}

/** Tags of position records: with liquidity, without, and in brief. */
const OPEN = 4
const CLOSED = 5
const BRIEF = 6

function isWhole(tag: number): boolean {
  return tag === OPEN || tag === CLOSED
}

/** Decodes a page; `read` returns undefined for records that the page must not contain. */
function* decode<Position extends RawBrief>(
  answer: Hex,
  read: (from: LensCursor, tag: number) => Position | undefined,
): Steps<RawRead<Position>> {
  const { from, block, taken } = decodeLensPage(answer)
  const managers = Array.from({ length: from.number(2) }, () => readHolder(from))
  const tokens: RawPricedToken[] = []
  const pools: RawPool[] = []
  const positions: Position[] = []
  const broken: BrokenPosition[] = []
  const found: RawFound[] = []
  const registries: RawRegistry[] = []
  let rewards: RawReward[] = []
  for (let records = 1; !from.isAtEnd(); records++) {
    if (records % STEP_RECORDS === 0) yield
    const tag = from.number(1)
    if (tag === 1) tokens.push(readPricedToken(from))
    else if (tag === 2) pools.push(readPool(from))
    else if (tag === 7) rewards.push(readReward(from))
    else if (tag === 8) addWords(pools, readWords(from))
    else if (tag === 9) found.push(readFound(from))
    else if (tag === 10) registries.push(readRegistry(from))
    else {
      if (tag === 3) broken.push(readBroken(from))
      else {
        const position = read(from, tag)
        if (position === undefined) throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
        positions.push(rewards.length === 0 ? position : { ...position, rewards })
      }
      if (rewards.length > 0) rewards = []
    }
  }
  if (positions.length + broken.length !== taken) {
    throw new UpstreamError('Cannot decode the lens: entries are missing')
  }
  return { block, managers, taken, tokens, pools, positions, broken, found, registries }
}

function readHolder(from: LensCursor): RawHolder {
  const [mark, balance] = [from.number(1), from.number(4)]
  return { balance: mark === 1 ? balance : undefined, ...(mark === 2 && { isAbsent: true }) }
}

function readPool(from: LensCursor) {
  return {
    manager: from.number(2),
    address: from.address(),
    token0: from.number(2),
    token1: from.number(2),
    /** Hundredths of a basis point. */
    fee: from.number(3),
    sqrtPriceX96: from.uint(20),
    tick: readTick(from),
    global: readGrowth(from),
  }
}

function addWords(pools: RawPool[], words: readonly bigint[]): void {
  const pool = pools.pop()
  if (pool === undefined) throw new UpstreamError('Cannot decode the lens: words of no pool')
  pools.push({ ...pool, words })
}

function readFound(from: LensCursor) {
  return { registry: from.number(1), entry: from.number(4), address: from.address(), manager: from.number(2) }
}

const REGISTRY_STATES = ['silent', 'known', 'more', 'absent'] as const
/** Whether the last known entry is the same as before. */
const LAST_STATES = ['changed', 'same', 'missing'] as const

function readRegistry(from: LensCursor) {
  from.skip(1)
  const [state, lastState] = [REGISTRY_STATES[from.number(1)], LAST_STATES[from.number(1)]]
  if (state === undefined || lastState === undefined) {
    throw new UpstreamError('Cannot decode the lens: unknown state of a registry')
  }
  return { state, lastState, known: from.number(4), last: from.address() }
}

function readReward(from: LensCursor) {
  return { token: from.number(2), words: readWords(from) }
}

function readWords(from: LensCursor): readonly bigint[] {
  return Array.from({ length: from.number(1) }, () => from.uint(32))
}

function readBroken(from: LensCursor) {
  const manager = from.number(2)
  // 0 if the id itself could not be read.
  const tokenId = from.uint(32)
  const part = BROKEN_PARTS[from.number(1)]
  if (part === undefined) throw new UpstreamError('Cannot decode the lens: unknown failure')
  return { manager, tokenId, part }
}

function readPosition(from: LensCursor, isOpen: boolean) {
  return {
    manager: from.number(2),
    tokenId: from.uint(32),
    owner: from.address(),
    pool: from.number(2),
    tickLower: readTick(from),
    tickUpper: readTick(from),
    insideLast: readGrowth(from),
    owed: readAmounts(from),
    /** The pool's own position of the manager in the range, which all ids of that range share. */
    shared: { liquidity: from.uint(16), insideLast: readGrowth(from), owed: readAmounts(from) },
    liquidity: isOpen ? from.uint(16) : 0n,
    /** Fee growth outside both ends of the range; undefined without liquidity. */
    outside: isOpen ? { lower: readGrowth(from), upper: readGrowth(from) } : undefined,
  }
}

function readAmounts(from: LensCursor) {
  return { amount0: from.uint(16), amount1: from.uint(16) }
}

/** Reads the brief fields of the same record, and skips the others. */
function readListed(from: LensCursor, isOpen: boolean): RawBrief {
  const [manager, tokenId] = [from.number(2), from.uint(32)]
  from.skip(20)
  const pool = from.number(2)
  from.skip(3 + 3 + 64 + 32 + 112)
  const liquidity = isOpen ? from.uint(16) : 0n
  if (isOpen) from.skip(128)
  return { manager, tokenId, pool, liquidity }
}

function readBrief(from: LensCursor) {
  return { manager: from.number(2), tokenId: from.uint(32), pool: from.number(2), liquidity: from.uint(16) }
}
