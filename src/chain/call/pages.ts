import { UpstreamError } from '../../lib/error.ts'
import { type Block, isSameBlock, type PinnedBlock } from '../block.ts'
import { RpcRefusedError } from '../rpc/client.ts'

/** Pages of one reading that are read at the same time. */
const PAGES_RUNNING_MAX = 8

/** What a lens answered about some entries (wallets or positions) of a longer list. */
export interface LensPage {
  readonly block: Block
  /** How many entries the page holds. */
  readonly taken: number
}

/** Entries `start` to `end` (exclusive) at a block. */
export interface LensPageRequest {
  readonly start: number
  readonly end: number
  readonly block: PinnedBlock | 'latest'
}

/** How a list of entries is read in pages at one block. */
interface PinnedPagesSource<Page extends LensPage> {
  readonly pageSize: number
  /** The least number of entries, as known before the first page. @default 0 */
  readonly countMin?: number
  read(request: LensPageRequest): Promise<Page>
  /** How many entries there are in all, according to a page. Throws to refuse the page. */
  count(page: Page): number
}

/** How a list of entries is read in pages at the newest block or at a past one. */
interface PagesSource<Page extends LensPage> extends PinnedPagesSource<Page> {
  /** The past block to read at; absent: the newest. */
  readonly at?: PinnedBlock | undefined
  /** Gets the block of a page that was read at `latest` or at the past block. Throws to refuse the page. */
  observeBlock(block: Block): void
  /** The newest block, for pages that must all see it. */
  pin(): Promise<PinnedBlock>
}

/** A page and the number of its first entry. */
interface PlacedPage<Page extends LensPage> {
  readonly start: number
  readonly page: Page
}

/** All pages of a reading, at least one. */
export type LensPages<Page extends LensPage> = [PlacedPage<Page>, ...PlacedPage<Page>[]]

/**
 * All pages at a past block; or one page at the latest block, if it holds all entries. A longer list is read from its
 * first page on, a few pages at a time, at a block pinned by its hash: two blocks of one height may agree in parent,
 * time and everything else that a call can see, so only the hash proves that all pages saw the same block. If a page
 * ends early for lack of gas or bytes, the next one starts there. Pages come in the order of entries. Throws
 * `UpstreamError` if they do not belong to one block, `RpcRefusedError` if one call cannot hold even one entry.
 */
export async function readPages<Page extends LensPage>(source: PagesSource<Page>): Promise<LensPages<Page>> {
  const { pageSize, countMin = 0, at } = source
  if (at !== undefined) {
    const pages = await readPagesAt(at, source)
    source.observeBlock(pages[0].page.block)
    return pages
  }
  if (countMin > pageSize) return await readPagesAt(await source.pin(), source)
  const page = await source.read({ start: 0, end: pageSize, block: 'latest' })
  source.observeBlock(page.block)
  const count = source.count(page)
  if (page.taken >= count) return [{ start: 0, page }]
  if (page.taken === 0) throw tooLittle()
  // Further pages at this endpoint can hold about as much as this one did.
  return await readPagesAt(await source.pin(), { ...source, pageSize: page.taken, countMin: count })
}

/**
 * All pages at a block that is known by its hash. It may have a few entries more or fewer than expected. Throws as
 * `readPages`.
 */
export async function readPagesAt<Page extends LensPage>(
  block: PinnedBlock,
  source: PinnedPagesSource<Page>,
): Promise<LensPages<Page>> {
  const { pageSize, countMin = 0 } = source
  let countHere = Math.max(1, countMin)

  const readFrom = async (from: number): Promise<PlacedPage<Page>[]> => {
    const pages: PlacedPage<Page>[] = []
    for (let start = from; start < Math.min(from + pageSize, countHere) || pages.length === 0; ) {
      const page = await source.read({ start, end: from + pageSize, block })
      countHere = source.count(page)
      if (page.taken === 0 && start < countHere) throw tooLittle()
      pages.push({ start, page })
      start += page.taken
    }
    return pages
  }

  const pages: PlacedPage<Page>[] = []
  for (let from = 0; from < countHere; ) {
    const running: Promise<PlacedPage<Page>[]>[] = []
    for (; from < countHere && running.length < PAGES_RUNNING_MAX; from += pageSize) running.push(readFrom(from))
    pages.push(...(await Promise.all(running)).flat())
  }
  const [first, ...others] = pages
  if (first === undefined) throw new UpstreamError('The endpoint has lost the entries that it counted')
  // An endpoint that ignores the pin answers from its latest block.
  if (others.every(({ page }) => isSameBlock(page.block, first.page.block))) return [first, ...others]
  throw new UpstreamError('The chain changed between two pages')
}

function tooLittle(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint allows too little gas for one entry', 'size')
}
