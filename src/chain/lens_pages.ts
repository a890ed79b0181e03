import { UpstreamError } from '../lib/error.ts'
import { RpcRefusedError } from './client.ts'
import type { ReadBlock } from './read_block.ts'

/** Pages of one reading that are read at the same time. */
const PAGES_RUNNING_MAX = 4

/** What a lens answered about some entries, wallets or positions, of a longer row. */
export interface LensPage {
  readonly block: ReadBlock
  /** How many entries it got through. */
  readonly taken: number
}

/** Entries `start` to `end` (exclusive) at a block. */
export interface PageRequest {
  readonly start: number
  readonly end: number
  readonly block: bigint | 'latest'
}

/** How a row of entries is read in pages. */
export interface PagesSource<Page extends LensPage> {
  /** Most entries of one page. */
  readonly pageSize: number
  read(request: PageRequest): Promise<Page>
  /** Is shown the first page, which it may refuse by throwing, and says how many entries there are in all. */
  count(first: Page): number
}

/** A page and the number of its first entry. */
export interface PlacedPage<Page extends LensPage> {
  readonly start: number
  readonly page: Page
}

/** All pages of a reading, at least one. */
export type PlacedPages<Page extends LensPage> = [PlacedPage<Page>, ...PlacedPage<Page>[]]

/**
 * The first page at the latest block, and the others pinned to that block, a few at a time; a page that ends early for
 * want of gas or bytes is carried on where it ended. Pages come in the order of entries. Throws `UpstreamError` where
 * they do not belong to one block, `RpcRefusedError` where a call is not enough for one entry.
 */
export async function readPages<Page extends LensPage>(source: PagesSource<Page>): Promise<PlacedPages<Page>> {
  const first = await source.read({ start: 0, end: source.pageSize, block: 'latest' })
  const count = source.count(first)
  if (first.taken === 0 && count > 0) throw tooLittle()
  const starts: number[] = []
  // What the first page got through is what pages of this endpoint can hold.
  for (let start = first.taken; start < count; start += first.taken) starts.push(start)

  const readFrom = async (from: number): Promise<PlacedPage<Page>[]> => {
    const pages: PlacedPage<Page>[] = []
    const end = Math.min(from + first.taken, count)
    for (let start = from; start < end; ) {
      const page = await source.read({ start, end, block: first.block.number })
      if (page.block.number !== first.block.number || page.block.parentHash !== first.block.parentHash) {
        throw new UpstreamError('The chain changed between two pages')
      }
      if (page.taken === 0) throw tooLittle()
      pages.push({ start, page })
      start += page.taken
    }
    return pages
  }
  const pages: PlacedPages<Page> = [{ start: 0, page: first }]
  for (let at = 0; at < starts.length; at += PAGES_RUNNING_MAX) {
    pages.push(...(await Promise.all(starts.slice(at, at + PAGES_RUNNING_MAX).map(readFrom))).flat())
  }
  return pages
}

function tooLittle(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint allows too little gas for one entry', 'size')
}
