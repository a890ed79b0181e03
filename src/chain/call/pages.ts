import { UpstreamError } from '../../lib/error.ts'
import { type Block, isSameBlock, type PinnedBlock } from '../block.ts'
import { RpcRefusedError } from '../rpc/client.ts'

/** Concurrent pages of one read. */
const PAGES_RUNNING_MAX = 8

/** A lens' answer about some entries (wallets or positions) of a longer list. */
export interface LensPage {
  readonly block: Block
  /** Number of entries in the page. */
  readonly taken: number
}

/** Entries `start` to `end` (exclusive) at a block. */
export interface LensPageRequest {
  readonly start: number
  readonly end: number
  readonly block: PinnedBlock | 'latest'
}

/** Source of a list that is read in pages at one block. */
interface PinnedPagesSource<Page extends LensPage> {
  readonly pageSize: number
  /** Minimum number of entries, if known before the first page. @default 0 */
  readonly countMin?: number
  read(request: LensPageRequest): Promise<Page>
  /** Returns the total number of entries according to a page. Throws to refuse the page. */
  count(page: Page): number
}

/** Source of a list that is read in pages at the newest block or at a past one. */
interface PagesSource<Page extends LensPage> extends PinnedPagesSource<Page> {
  /** The past block to read at; absent: the newest. */
  readonly at?: PinnedBlock | undefined
  /** Checks the block of a page that was read at `latest` or at the past block. Throws to refuse the page. */
  observeBlock(block: Block): void
  /** Returns the newest block, to which all pages are pinned. */
  pin(): Promise<PinnedBlock>
}

/** A page and the index of its first entry. */
interface PlacedPage<Page extends LensPage> {
  readonly start: number
  readonly page: Page
}

/** All pages of a read, at least one. */
export type LensPages<Page extends LensPage> = [PlacedPage<Page>, ...PlacedPage<Page>[]]

/**
 * Reads all pages at a past block; or one page at the latest block, if it contains all entries. A longer list is read
 * from its first page on, a few pages concurrently, at a block pinned by its hash: two blocks of one height may agree
 * in parent, time and everything else that a call can see, so only the hash proves that all pages saw the same block.
 * If a page ends early for lack of gas or bytes, the next one starts there. Pages are in the order of entries. Throws
 * `UpstreamError` if they do not belong to one block, `RpcRefusedError` if a call cannot read even one entry.
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
  if (page.taken === 0) throw tooLittleGasError()
  // Later pages at this endpoint can contain about as many entries as this one.
  return await readPagesAt(await source.pin(), { ...source, pageSize: page.taken, countMin: count })
}

/**
 * Reads all pages at a block with a known hash, which may have a few entries more or fewer than `countMin`. Throws as
 * `readPages`.
 */
export async function readPagesAt<Page extends LensPage>(
  block: PinnedBlock,
  source: PinnedPagesSource<Page>,
): Promise<LensPages<Page>> {
  const { pageSize, countMin = 0 } = source
  let entryCount = Math.max(1, countMin)

  const readFrom = async (from: number): Promise<PlacedPage<Page>[]> => {
    const pages: PlacedPage<Page>[] = []
    for (let start = from; start < Math.min(from + pageSize, entryCount) || pages.length === 0; ) {
      const page = await source.read({ start, end: from + pageSize, block })
      entryCount = source.count(page)
      if (page.taken === 0 && start < entryCount) throw tooLittleGasError()
      pages.push({ start, page })
      start += page.taken
    }
    return pages
  }

  const pages: PlacedPage<Page>[] = []
  for (let from = 0; from < entryCount; ) {
    const running: Promise<PlacedPage<Page>[]>[] = []
    for (; from < entryCount && running.length < PAGES_RUNNING_MAX; from += pageSize) running.push(readFrom(from))
    pages.push(...(await Promise.all(running)).flat())
  }
  const [first, ...remaining] = pages
  if (first === undefined) throw new UpstreamError('The endpoint has lost the entries that it counted')
  // An endpoint that ignores the pin answers from its latest block.
  if (remaining.every(({ page }) => isSameBlock(page.block, first.page.block))) return [first, ...remaining]
  throw new UpstreamError('The chain changed between two pages')
}

function tooLittleGasError(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint allows too little gas for one entry', 'size')
}
