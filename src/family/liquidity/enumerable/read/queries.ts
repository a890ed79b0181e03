import { type Address, type Hex, zeroAddress } from 'viem'
import { isSameBlock, type PinnedBlock } from '../../../../chain/block.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import { type LensPage, readPages, readPagesAt } from '../../../../chain/call/pages.ts'
import { ContractUnresponsiveError } from '../../../../chain/rpc/client.ts'
import { getPriceSources, NO_PRICE_SOURCES } from '../../../../finance/price/price_sources.ts'
import type { SpamFilter } from '../../../../finance/token/spam.ts'
import { runCooperatively, type Steps } from '../../../../lib/async/cooperative.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { joinPages } from '../../list/records.ts'
import { ListTooLongError } from '../../list/selection.ts'
import { listHolders } from '../exchange.ts'
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
  type RawBrief,
  type RawRead,
} from './abi.ts'
import { type BriefPosition, type ChainRead, interpret, interpretList, interpretScan, joinScans } from './position.ts'
import type { RegisteredTarget } from './registry.ts'

/** Highest number of positions of one wallet on one chain. A longer list is refused, not truncated. */
const LIST_MAX = 100_000
/**
 * Positions in one call, whole and in brief: 1,000 take about 34 million gas, 2,000 in brief about 40 million, and nodes
 * allow 50 million. A deployless call shares its gas with the deployment, and nodes that require one allow the least.
 * The lens itself lists at most 4,096, and reads at most 512 by their ids.
 */
const PAGE_SIZES = { override: 1_000, deployless: 40 } as const
const BRIEF_PAGE_SIZES = { override: 2_000, deployless: 200 } as const
/** The same of lists whose first positions are read whole, which are all of a short page. */
const FIRST_PAGE_SIZES = { override: BRIEF_PAGE_SIZES.override, deployless: PAGE_SIZES.deployless } as const
/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of the transport's limit. */
const PAGE_BYTES_MAX = 1_000_000
/** A call with more rows than this may take more gas than a bundle has. */
const LIGHT_HOLDERS_MAX = 200
/** Chain and position managers to read. */
export type EnumerableTarget = RegisteredTarget

/*
 * Lens queries, each about one block. They throw `UpstreamError` if the answers are of different blocks or about other
 * positions, `RpcRefusedError` if a call cannot fit one position, `ContractUnresponsiveError` if a manager does not
 * answer.
 */

/** Target of a query, and the spam filter for the tokens of its answer. */
export interface LensQueryContext {
  readonly target: EnumerableTarget
  readonly classifyToken: SpamFilter['classify']
  /** True to read prices of tokens, which takes half the bytes of a query about one position. */
  readonly isPriced: boolean
}

/** Wallet whose positions to read; none are read if there are more than `wholeMax`. */
interface WalletQuery {
  readonly wallet: Address
  readonly wholeMax: number
}

/**
 * Reads all positions of a wallet; undefined if there are more than `wholeMax`, so they must be read in brief. With
 * `firstMax` only the first positions are read whole, so that one call covers a longer list.
 */
export async function readList(
  lens: LensAccess,
  { wallet, wholeMax, firstMax }: WalletQuery & { readonly firstMax?: number },
  context: LensQueryContext,
): Promise<ChainRead<BriefPosition> | undefined> {
  const countListed = createCounter(wallet, context.target)
  // Deployless pages are short, and those in brief longer.
  const lengthMax = firstMax === undefined || lens.mode === 'deployless' ? wholeMax : BRIEF_PAGE_SIZES.override
  const query = { wallet, wholeMax: lengthMax, firstMax, countListed, decode: decodeList }
  const raw = await readWhole(lens, query, context)
  return countListed(raw.managers) > lengthMax
    ? undefined
    : await runCooperatively(interpretList(raw, toInterpretOptions(context, 'apart')))
}

/** Reads the first `wholeMax` positions of a wallet, spam included, and the number of all. */
export async function readHeld(
  lens: LensAccess,
  { wallet, wholeMax }: WalletQuery,
  context: LensQueryContext,
): Promise<{ readonly count: number; readonly read: ChainRead }> {
  const countAll = (managers: RawRead['managers']) => sumBalances(managers, wallet, context.target)
  const countListed = (managers: RawRead['managers']) => Math.min(countAll(managers), wholeMax)
  const raw = await readWhole(lens, { wallet, wholeMax, countListed, decode: decodeLens }, context)
  return {
    count: countAll(raw.managers),
    read: await runCooperatively(interpret(raw, toInterpretOptions(context, 'included'))),
  }
}

/**
 * Reads a wallet's whole list: one call at the latest block, or, for longer lists or past blocks, all pages at one
 * pinned block. If the list has more than `wholeMax` entries, only the first page is read, and `taken` shows it.
 * `countListed` returns the length of the list, or throws if it is too long, before further pages are read.
 */
async function readWhole<Page extends RawRead<RawBrief>>(
  { mode, call, ...paging }: LensAccess,
  request: WalletQuery & {
    readonly firstMax?: number | undefined
    readonly countListed: (managers: RawRead['managers']) => number
    readonly decode: (answer: Hex) => Steps<Page>
  },
  context: LensQueryContext,
): Promise<Page> {
  const { wallet, wholeMax, firstMax, countListed, decode } = request
  const sizes = firstMax === undefined ? PAGE_SIZES : FIRST_PAGE_SIZES
  const contracts = toLensContracts(context)
  const pages = await readPages<Page>({
    ...paging,
    pageSize: sizes[mode],
    async read({ start, end, block }) {
      const page = { offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX, firstMax: firstMax ?? end - start }
      const data = encodeList(contracts, { wallet, ...page })
      // Most lists are short. A page that would take more gas than a call in a bundle gets ends early.
      const isLight = start === 0 && contracts.holders.length <= LIGHT_HOLDERS_MAX
      const read = await runCooperatively(decode(await call({ data, block, isLight })))
      context.target.registries?.observe(read)
      return read
    },
    count({ managers, taken }) {
      const count = countListed(managers)
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
 * Reads all positions of a wallet in brief, up to the longest list. The block is pinned from the first page on, so that
 * positions can be completed at that block. Each page is interpreted at once and its raw answer dropped.
 */
export async function readScan(
  { mode, call, at, pin, observeBlock }: LensAccess,
  wallet: Address,
  context: LensQueryContext,
): Promise<ChainRead<BriefPosition>> {
  const countListed = createCounter(wallet, context.target)
  const options = toInterpretOptions(context, 'apart')
  const contracts = toLensContracts(context)
  const pinned = await pin()
  const pages = await readPagesAt<DigestedPage>(pinned, {
    pageSize: BRIEF_PAGE_SIZES[mode],
    async read({ start, end, block }) {
      const data = encodeScan(contracts, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      const page = await runCooperatively(decodeScan(await call({ data, block })))
      context.target.registries?.observe(page)
      const digest = await runCooperatively(interpretScan(page, options))
      return { block: page.block, taken: page.taken, managers: page.managers, digest }
    },
    count: ({ managers }) => countListed(managers),
  })
  const { block } = pages[0].page
  if (at !== undefined) observeBlock(block)
  const digests = pages.map(({ page }) => page.digest)
  return await runCooperatively(joinScans({ ...block, hash: pinned.hash }, digests))
}

/** Positions to read at a block, with `owner` as the owner of each. */
interface SelectedPositions {
  readonly owner: Address
  readonly refs: PositionRefs
  readonly block: PinnedBlock
}

/** Reads at least one of an owner's positions, at the block of the list that they are from. */
export async function readSome(
  lens: LensAccess,
  selected: SelectedPositions,
  context: LensQueryContext,
): Promise<ChainRead> {
  const read = await runCooperatively(
    interpret(await readSelected(lens, selected, context), toInterpretOptions(context, 'included')),
  )
  const foundIds = new Set([...read.positions, ...read.unreadable].map(({ tokenId }) => tokenId))
  if (selected.refs.every(({ tokenId }) => foundIds.has(tokenId))) return read
  throw new UpstreamError('Cannot use the answer: a requested position is missing')
}

/** Reads positions in pages. A position that its manager does not answer about is broken: it may not exist. */
export async function readSelected(
  { mode, call }: Pick<LensAccess, 'mode' | 'call'>,
  { owner, refs, block: pinned }: SelectedPositions,
  context: LensQueryContext,
): Promise<RawRead> {
  const contracts = toLensContracts(context)
  const pages = await readPagesAt<RawRead>(pinned, {
    pageSize: PAGE_SIZES[mode],
    countMin: refs.length,
    async read({ start, end, block }) {
      const data = encodeSome(contracts, { owner, refs: refs.slice(start, end), bytesMax: PAGE_BYTES_MAX })
      return await runCooperatively(decodeLens(await call({ data, block, isLight: start === 0 })))
    },
    count({ block }) {
      if (!isSameBlock(block, pinned)) throw new UpstreamError('The chain changed since the list was read')
      return refs.length
    },
  })
  return joinPages(pages)
}

/** Reads the positions of one id on every manager that knows it, in one call. */
export async function readOne(
  { call, at, observeBlock }: LensAccess,
  tokenId: bigint,
  context: LensQueryContext,
): Promise<ChainRead> {
  const data = encodeOne(toLensContracts(context), tokenId)
  const raw = await runCooperatively(decodeLens(await call({ data, block: at ?? 'latest', isLight: true })))
  observeBlock(raw.block)
  checkManagers(raw.managers, context.target, 'manager_address')
  return await runCooperatively(interpret(raw, toInterpretOptions(context, 'included')))
}

/** Converts the context of a query to the options of its interpretation. */
export function toInterpretOptions<const Spam>({ target, classifyToken, isPriced }: LensQueryContext, spam: Spam) {
  return { chain: target.client.chain, holders: listHolders(target), classifyToken, isPriced, spam }
}

function toLensContracts({ target, isPriced }: LensQueryContext): LensContracts {
  const prices = isPriced ? getPriceSources(target.client.chain) : NO_PRICE_SOURCES
  return { holders: listHolders(target), prices, registries: target.registries?.queries }
}

/**
 * Creates a counter of a wallet's positions over all managers of a target. It throws if a manager does not answer, or
 * beyond `LIST_MAX`.
 */
function createCounter(wallet: Address, target: EnumerableTarget) {
  return (managers: RawRead['managers']): number => {
    const count = sumBalances(managers, wallet, target)
    if (count <= LIST_MAX) return count
    throw new ListTooLongError(count, target.client.chain, LIST_MAX)
  }
}

/** Sums a wallet's balances over all managers and custodians. Throws if one does not answer. */
function sumBalances(managers: RawRead['managers'], wallet: Address, target: EnumerableTarget): number {
  // ERC-721: the zero address owns nothing, and `balanceOf` reverts for it.
  if (wallet !== zeroAddress) checkManagers(managers, target)
  return managers.reduce((sum, { balance = 0 }) => sum + balance, 0)
}

/**
 * Throws if a manager or custodian does not answer: without it, a total would be too small. A custodian without code at a
 * past block held nothing then; its manager, which answers in the same call, shows that the state is real.
 */
function checkManagers(managers: RawRead['managers'], target: EnumerableTarget, parameter?: 'manager_address'): void {
  const unresponsive = listHolders(target).find((_, index) => {
    const { balance, isAbsent } = managers[index] ?? {}
    return balance === undefined && !(isAbsent && target.block !== undefined)
  })
  if (unresponsive === undefined) return
  const { deployment, custodian } = unresponsive
  const leftOutBy = target.deployments.length > 1 ? parameter : undefined
  const contract = custodian ? `custodian ${custodian.address}` : `position manager ${deployment.manager}`
  throw new ContractUnresponsiveError(`${contract} does not answer`, leftOutBy)
}
