import type { Hex } from 'viem'
import type { Endpoint } from '../../chain/client.ts'
import type { CallLens } from '../../chain/lens.ts'
import { type LensPage, type PlacedPages, readPages } from '../../chain/lens_pages.ts'
import type { ReadBlock } from '../../chain/read_block.ts'
import { UpstreamError } from '../../lib/error.ts'
import { inTurns } from '../../lib/turns.ts'
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

/** Longest answer of one page, bytes: as hexadecimal text a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000

/** How the lens is read on one rung. */
export interface LensSource {
  readonly subject: LensSubject
  /** Runs the lens on one endpoint, whichever way. */
  readonly call: CallLens
  /** Positions per call; the lens itself reads no more than 512, and in brief no more than 4,096. */
  readonly pageSize: number
  /** Told the block of the first page; throws where it is not to be believed. */
  readonly observeBlock: Endpoint['observeBlock']
}

/** Whose list is read. */
interface ListRequest {
  readonly wallet: Hex
  /** The length of the list; refuses one that is too long before its further pages are read. */
  readonly countOf: (managers: RawRead['managers']) => number
}

/**
 * A wallet's whole list: one call at the latest block, and further ones pinned to that block. Of a list of more than
 * `wholeMax` entries only the first page is read, and `taken` says so. Throws `UpstreamError` where the pages do not
 * belong to one block, `RpcRefusedError` where a call is not enough for one position.
 */
export async function readWalletByLens(
  { subject, call, pageSize, observeBlock }: LensSource,
  { wallet, countOf, wholeMax }: ListRequest & { readonly wholeMax: number },
): Promise<RawRead> {
  const pages = await readPages<RawRead>({
    pageSize,
    async read({ start, end, block }) {
      const data = encodeList(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      return await inTurns(decodeLens(await call({ data, block })))
    },
    count({ block, managers, taken }) {
      observeBlock(block)
      const count = countOf(managers)
      return count > wholeMax ? taken : count
    },
  })
  return mergePages(pages)
}

/** A page of a long list: what was made of it. */
export interface DigestedPage<Digest> extends LensPage {
  readonly managers: RawScan['managers']
  readonly digest: Digest
}

/** A wallet's whole list in brief, read like `readWalletByLens` reads it. Only the digests of pages are kept. */
export async function scanWalletByLens<Digest>(
  { subject, call, pageSize, observeBlock }: LensSource,
  { wallet, countOf, digest }: ListRequest & { readonly digest: (page: RawScan) => Promise<Digest> },
): Promise<PlacedPages<DigestedPage<Digest>>> {
  return await readPages<DigestedPage<Digest>>({
    pageSize,
    async read({ start, end, block: at }) {
      const data = encodeScan(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      const page = await inTurns(decodeScan(await call({ data, block: at })))
      const { block, taken, managers } = page
      return { block, taken, managers, digest: await digest(page) }
    },
    count({ block, managers }) {
      observeBlock(block)
      return countOf(managers)
    },
  })
}

/** Some of an owner's positions, at least one, at a block that is known. Throws like `readWalletByLens`. */
export async function readSomeByLens(
  { subject, call, pageSize }: LensSource,
  { owner, picks, block }: { readonly owner: Hex; readonly picks: Picks; readonly block: ReadBlock },
): Promise<RawRead> {
  const pages = await readPages<RawRead>({
    pageSize,
    async read({ start, end }) {
      const data = encodeSome(subject, { owner, picks: picks.slice(start, end), bytesMax: PAGE_BYTES_MAX })
      return await inTurns(decodeLens(await call({ data, block: block.number })))
    },
    count(first) {
      if (first.block.chainId !== block.chainId || first.block.parentHash !== block.parentHash) {
        throw new UpstreamError('The chain changed since the list was read')
      }
      return picks.length
    },
  })
  return mergePages(pages)
}

/** The position of one id on every manager that knows it, in one call. */
export async function readOneByLens(source: LensSource, tokenId: bigint): Promise<RawRead> {
  const answer = await source.call({ data: encodeOne(source.subject, tokenId), block: 'latest' })
  const read = await inTurns(decodeLens(answer))
  source.observeBlock(read.block)
  return read
}

/** One read out of pages of the same block: numbers of tokens and pools move by what came before. */
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
