import { type Address, type Hex, zeroAddress } from 'viem'
import { isSameBlock, type PinnedBlock } from '../../../chain/block.ts'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { type LensPage, readPages, readPagesAt } from '../../../chain/call/pages.ts'
import { ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import { joinPages } from '../../../finance/liquidity/list/pages.ts'
import { ListTooLongError } from '../../../finance/liquidity/list/selection.ts'
import { getPriceSources, NO_PRICE_SOURCES } from '../../../finance/price/price_sources.ts'
import type { SpamFilter } from '../../../finance/token/spam_filter.ts'
import { runCooperatively, type Steps } from '../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { FamilyTarget } from '../../target.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { RawBrief, RawRead } from './abi.ts'
import {
  decodeLens,
  decodeList,
  decodeScan,
  encodeList,
  encodeOne,
  encodeScan,
  encodeSome,
  type LensContracts,
  type PositionRefs,
} from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import {
  type BriefPosition,
  type ChainRead,
  interpret,
  interpretList,
  interpretScan,
  joinScans,
  type ListedPosition,
} from './position.ts'

/** Most positions of one wallet on one chain. A longer list is refused, not cut. */
const LIST_MAX = 100_000
/**
 * Positions in one call, whole and in brief: 500 take about 14 million gas, 2,000 in brief about 40 million, and nodes
 * allow 50 million. A deployless call shares its gas with the deployment, and the nodes that need one allow the least.
 * The lens itself reads no more than 512, and in brief no more than 4,096.
 */
const PAGE_SIZES = { override: 500, deployless: 40 } as const
const BRIEF_PAGE_SIZES = { override: 2_000, deployless: 200 } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000
/** Where a chain's positions are read. */
export type UniswapV3Target = FamilyTarget<UniswapV3Deployment>

/*
 * Questions to the lens, each about one block. They throw `UpstreamError` if its answers do not belong to one block or are
 * about something else, `RpcRefusedError` if a call is not enough for one position, `ContractUnresponsiveError` if a manager does not
 * answer.
 */

/** The lens that answers. */
export const LENS = { topic: 'uniswap_v3', runtime: LENS_RUNTIME } as const

/** Where a question is asked, and what judges the tokens of its answer. */
export interface LensQueryContext {
  readonly place: UniswapV3Target
  readonly judge: SpamFilter['judge']
  /** True if tokens are asked for what prices them, which takes half the bytes of a question about one position. */
  readonly isPriced: boolean
}

/** Whose positions; none are read if they are more than `wholeMax`. */
interface WalletQuestion {
  readonly wallet: Address
  readonly wholeMax: number
}

/** All positions of a wallet; undefined if they are more than `wholeMax`, so that they must be read in brief. */
export async function readList(
  lens: LensAccess,
  { wallet, wholeMax }: WalletQuestion,
  asked: LensQueryContext,
): Promise<ChainRead<ListedPosition> | undefined> {
  const countOf = countFor(wallet, asked.place)
  const raw = await readWhole(lens, { wallet, wholeMax, countOf, decode: decodeList }, asked)
  return countOf(raw.managers) > wholeMax
    ? undefined
    : await runCooperatively(interpretList(raw, toInterpretOptions(asked, 'apart')))
}

/** All positions of a wallet, spam included, and how many they are. */
export async function readHeld(
  lens: LensAccess,
  { wallet, wholeMax }: WalletQuestion,
  asked: LensQueryContext,
): Promise<{ readonly count: number; readonly read: ChainRead }> {
  const countOf = (managers: RawRead['managers']) => countIn(managers, wallet, asked.place)
  const raw = await readWhole(lens, { wallet, wholeMax, countOf, decode: decodeLens }, asked)
  const count = countOf(raw.managers)
  const positions = count > wholeMax ? [] : raw.positions
  return {
    count,
    read: await runCooperatively(interpret({ ...raw, positions }, toInterpretOptions(asked, 'included'))),
  }
}

/**
 * A wallet's whole list: one call at the latest block, or, for longer lists or in the past, all pages at one pinned
 * block. Of a list of more than `wholeMax` entries only the first page is read, and `taken` shows it. `countOf` gives the
 * length of the list, or throws if it is too long, before further pages are read.
 */
async function readWhole<Page extends RawRead<RawBrief>>(
  { way, call, ...paging }: LensAccess,
  request: WalletQuestion & {
    readonly countOf: (managers: RawRead['managers']) => number
    readonly decode: (answer: Hex) => Steps<Page>
  },
  asked: LensQueryContext,
): Promise<Page> {
  const { wallet, wholeMax, countOf, decode } = request
  const subject = subjectOf(asked)
  const pages = await readPages<Page>({
    ...paging,
    pageSize: PAGE_SIZES[way],
    async read({ start, end, block }) {
      const data = encodeList(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      // Most lists end on their first page. A full one takes 14 million gas, and ends early if tokens burn more.
      return await runCooperatively(decode(await call({ data, block, isLight: start === 0 })))
    },
    count({ managers, taken }) {
      const count = countOf(managers)
      return count > wholeMax ? taken : count
    },
  })
  return joinPages(pages)
}

/** A page of a long list, interpreted. */
interface DigestedPage extends LensPage {
  readonly managers: RawRead['managers']
  readonly digest: ChainRead<BriefPosition>
}

/**
 * All positions of a wallet in brief, up to the longest list. The block is pinned from the first page on, so that its
 * positions can be completed at that block. Only what pages mean is kept.
 */
export async function readScan(
  { way, call, at, pin, observeBlock }: LensAccess,
  wallet: Address,
  asked: LensQueryContext,
): Promise<ChainRead<BriefPosition>> {
  const countOf = countFor(wallet, asked.place)
  const options = toInterpretOptions(asked, 'apart')
  const subject = subjectOf(asked)
  const pinned = await pin()
  const pages = await readPagesAt<DigestedPage>(pinned, {
    pageSize: BRIEF_PAGE_SIZES[way],
    async read({ start, end, block }) {
      const data = encodeScan(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      const page = await runCooperatively(decodeScan(await call({ data, block })))
      const digest = await runCooperatively(interpretScan(page, options))
      return { block: page.block, taken: page.taken, managers: page.managers, digest }
    },
    count: ({ managers }) => countOf(managers),
  })
  const { block } = pages[0].page
  if (at !== undefined) observeBlock(block)
  const digests = pages.map(({ page }) => page.digest)
  return await runCooperatively(joinScans({ ...block, hash: pinned.hash }, digests))
}

/** Some positions at a block, each given to `owner`. */
interface SelectedPositions {
  readonly owner: Address
  readonly picks: PositionRefs
  readonly block: PinnedBlock
}

/** Some of an owner's positions, at least one, at the block of the list that they are from. */
export async function readSome(
  lens: LensAccess,
  picked: SelectedPositions,
  asked: LensQueryContext,
): Promise<ChainRead> {
  const read = await runCooperatively(
    interpret(await readSelected(lens, picked, asked), toInterpretOptions(asked, 'included')),
  )
  const found = new Set([...read.positions, ...read.unreadable].map(({ tokenId }) => tokenId))
  if (picked.picks.every(({ tokenId }) => found.has(tokenId))) return read
  throw new UpstreamError('The endpoint answers about other positions than were asked for')
}

/** Reads them in pages. One that its manager does not answer about is broken: it need not be there. */
export async function readSelected(
  { way, call }: Pick<LensAccess, 'way' | 'call'>,
  { owner, picks, block: pinned }: SelectedPositions,
  asked: LensQueryContext,
): Promise<RawRead> {
  const subject = subjectOf(asked)
  const pages = await readPagesAt<RawRead>(pinned, {
    pageSize: PAGE_SIZES[way],
    countMin: picks.length,
    async read({ start, end, block }) {
      const data = encodeSome(subject, { owner, picks: picks.slice(start, end), bytesMax: PAGE_BYTES_MAX })
      return await runCooperatively(decodeLens(await call({ data, block, isLight: start === 0 })))
    },
    count({ block }) {
      if (!isSameBlock(block, pinned)) throw new UpstreamError('The chain changed since the list was read')
      return picks.length
    },
  })
  return joinPages(pages)
}

/** The positions of one id on every manager that knows it, in one call. */
export async function readOne(
  { call, at, observeBlock }: LensAccess,
  tokenId: bigint,
  asked: LensQueryContext,
): Promise<ChainRead> {
  const data = encodeOne(subjectOf(asked), tokenId)
  const raw = await runCooperatively(decodeLens(await call({ data, block: at ?? 'latest', isLight: true })))
  observeBlock(raw.block)
  checkManagers(raw.managers, asked.place.deployments, 'manager_address')
  return await runCooperatively(interpret(raw, toInterpretOptions(asked, 'included')))
}

/** How the answer to a question is interpreted. */
export function toInterpretOptions<const Spam>({ place, judge, isPriced }: LensQueryContext, spam: Spam) {
  return { chain: place.client.chain, deployments: place.deployments, judge, isPriced, spam }
}

function subjectOf({ place: { client, deployments }, isPriced }: LensQueryContext): LensContracts {
  return { deployments, prices: isPriced ? getPriceSources(client.chain) : NO_PRICE_SOURCES }
}

/** Counts a wallet's positions over all managers of a place. Throws if one does not answer or beyond `LIST_MAX`. */
function countFor(wallet: Address, place: UniswapV3Target) {
  return (managers: RawRead['managers']): number => {
    const count = countIn(managers, wallet, place)
    if (count <= LIST_MAX) return count
    throw new ListTooLongError(count, place.client.chain, LIST_MAX)
  }
}

/** The same for any number of them. */
function countIn(managers: RawRead['managers'], wallet: Address, { deployments }: UniswapV3Target): number {
  // ERC-721: the zero address owns nothing, and `balanceOf` reverts for it.
  if (wallet !== zeroAddress) checkManagers(managers, deployments)
  return managers.reduce((sum, { balance = 0 }) => sum + balance, 0)
}

/** Throws if a manager does not answer: without it, a total would be too small. */
function checkManagers(
  managers: RawRead['managers'],
  deployments: readonly UniswapV3Deployment[],
  parameter?: 'manager_address',
): void {
  const silent = deployments.find((_, index) => managers[index]?.balance === undefined)
  if (silent === undefined) return
  const leftOutBy = deployments.length > 1 ? parameter : undefined
  throw new ContractUnresponsiveError(`position manager ${silent.manager} does not answer`, leftOutBy)
}
