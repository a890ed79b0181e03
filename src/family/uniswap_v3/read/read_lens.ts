import type { Hex } from 'viem'
import { isSameBlock, type PinnedBlock } from '../../../chain/block.ts'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { type LensPage, type PlacedPages, readPages, readPagesAt } from '../../../chain/call/pages.ts'
import { inTurns } from '../../../lib/async/turns.ts'
import { UpstreamError } from '../../../lib/error.ts'
import {
  decodeLens,
  decodeScan,
  encodeList,
  encodeOne,
  encodeScan,
  encodeSome,
  type LensSubject,
  type Picks,
} from './abi.ts'
import type { RawRead, RawScan } from './state.ts'

/** Longest answer of one page, bytes. As hexadecimal text it is a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000

/** How the lens is read in one of the ways. */
export interface LensSource extends LensAccess {
  readonly subject: LensSubject
  /** Positions per call; the lens itself reads no more than 512, and in brief no more than 4,096. */
  readonly pageSize: number
}

/** Whose list is read. */
interface ListRequest {
  readonly wallet: Hex
  /** The length of the list. Throws if it is too long, before further pages are read. */
  readonly countOf: (managers: RawRead['managers']) => number
}

/**
 * A wallet's whole list: one call at the latest block, or, for longer lists or in the past, all pages at one pinned
 * block. Of a list of more than `wholeMax` entries only the first page is read, and `taken` shows it. Throws
 * `UpstreamError` if the pages do not belong to one block, `RpcRefusedError` if a call is not enough for one position.
 */
export async function readWalletByLens(
  { subject, call, ...paging }: LensSource,
  { wallet, countOf, wholeMax }: ListRequest & { readonly wholeMax: number },
): Promise<RawRead> {
  const pages = await readPages<RawRead>({
    ...paging,
    async read({ start, end, block }) {
      const data = encodeList(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      // Most lists end on their first page. A full one takes 14 million gas, and ends early if tokens burn more.
      return await inTurns(decodeLens(await call({ data, block, isLight: start === 0 })))
    },
    count({ managers, taken }) {
      const count = countOf(managers)
      return count > wholeMax ? taken : count
    },
  })
  return mergePages(pages)
}

/** A page of a long list, interpreted. */
interface DigestedPage<Digest> extends LensPage {
  readonly managers: RawScan['managers']
  readonly digest: Digest
}

/**
 * A wallet's whole list in brief. The block is pinned from the first page on, so that its positions can be completed at
 * that block. Only the digests of pages are kept. Throws like `readWalletByLens`.
 */
export async function scanWalletByLens<Digest>(
  { subject, call, pageSize, at, pin, observeBlock }: LensSource,
  { wallet, countOf, digest }: ListRequest & { readonly digest: (page: RawScan) => Promise<Digest> },
): Promise<{ readonly block: PinnedBlock; readonly pages: PlacedPages<DigestedPage<Digest>> }> {
  const block = await pin()
  const pages = await readPagesAt<DigestedPage<Digest>>(block, {
    pageSize,
    async read({ start, end, block: at }) {
      const data = encodeScan(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      const page = await inTurns(decodeScan(await call({ data, block: at })))
      const { block, taken, managers } = page
      return { block, taken, managers, digest: await digest(page) }
    },
    count: ({ managers }) => countOf(managers),
  })
  if (at !== undefined) observeBlock(pages[0].page.block)
  return { block, pages }
}

/**
 * Some of an owner's positions, at least one, at the block of the list that they are from. Throws like
 * `readWalletByLens`, and `UpstreamError` if the endpoint answers from another block.
 */
export async function readSomeByLens(
  { subject, call, pageSize }: LensSource,
  { owner, picks, block }: { readonly owner: Hex; readonly picks: Picks; readonly block: PinnedBlock },
): Promise<RawRead> {
  const pages = await readPagesAt<RawRead>(block, {
    pageSize,
    countMin: picks.length,
    async read({ start, end, block: at }) {
      const data = encodeSome(subject, { owner, picks: picks.slice(start, end), bytesMax: PAGE_BYTES_MAX })
      return await inTurns(decodeLens(await call({ data, block: at })))
    },
    count(page) {
      if (!isSameBlock(page.block, block)) throw new UpstreamError('The chain changed since the list was read')
      return picks.length
    },
  })
  return mergePages(pages)
}

/** The position of one id on every manager that knows it, in one call. */
export async function readOneByLens(source: LensSource, tokenId: bigint): Promise<RawRead> {
  const data = encodeOne(source.subject, tokenId)
  const answer = await source.call({ data, block: source.at ?? 'latest', isLight: true })
  const read = await inTurns(decodeLens(answer))
  source.observeBlock(read.block)
  return read
}

/** Joins pages of the same block into one read. Token and pool numbers shift by the pages before. */
function mergePages([{ page: first }, ...others]: PlacedPages<RawRead>): RawRead {
  const merged = {
    tokens: [...first.tokens],
    pools: [...first.pools],
    positions: [...first.positions],
    broken: [...first.broken],
    feeds: [...first.feeds],
    aave: [...first.aave],
  }
  let taken = first.taken
  for (const { page } of others) {
    const [tokensBefore, poolsBefore] = [merged.tokens.length, merged.pools.length]
    const moved = (token: number): number => token + tokensBefore
    merged.tokens.push(...page.tokens)
    merged.pools.push(
      ...page.pools.map((each) => ({ ...each, token0: moved(each.token0), token1: moved(each.token1) })),
    )
    merged.positions.push(...page.positions.map((each) => ({ ...each, pool: each.pool + poolsBefore })))
    merged.feeds.push(...page.feeds.map((each) => ({ ...each, token: moved(each.token) })))
    merged.aave.push(...page.aave.map((each) => ({ ...each, token: moved(each.token) })))
    merged.broken.push(...page.broken)
    taken += page.taken
  }
  return { ...first, ...merged, taken }
}
