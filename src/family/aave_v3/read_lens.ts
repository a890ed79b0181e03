import type { Address, Hex } from 'viem'
import { RpcRefusedError } from '../../chain/client.ts'
import { UpstreamError } from '../../lib/error.ts'
import { decodeLens, encodeRead } from './abi.ts'
import type { RawRead } from './state.ts'

/** Pages of one reading that are read at the same time. */
const PAGES_RUNNING_MAX = 4
/** Longest answer of one page, bytes: as hexadecimal text a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000

/** How the lens is read on one rung. */
export interface LensSource {
  readonly providers: readonly Address[]
  /** Runs the lens on one endpoint, whichever way. */
  readonly call: (call: { readonly data: Hex; readonly block: bigint | 'latest' }) => Promise<Hex>
  /** Wallets per call. */
  readonly pageSize: number
  /** Told the block of the first page; throws where it is behind what others have shown. */
  readonly observeHead: (blockNumber: bigint) => void
}

/**
 * What wallets have: one call at the latest block, and for many wallets further ones pinned to that block. Throws
 * `UpstreamError` where the pages do not belong to one block, `RpcRefusedError` where a call is not enough for one wallet.
 */
export async function readByLens(source: LensSource, wallets: readonly Address[]): Promise<RawRead> {
  const { providers, call, pageSize, observeHead } = source
  const readPage = async (page: readonly Address[], block: bigint | 'latest'): Promise<RawRead> =>
    decodeLens(await call({ data: encodeRead({ providers, wallets: page, bytesMax: PAGE_BYTES_MAX }), block }))
  const first = await readPage(wallets.slice(0, pageSize), 'latest')
  observeHead(first.block.number)
  if (first.taken === 0 && wallets.length > 0) throw tooLittle()
  // After a page that ended early for want of gas or bytes, pages of its size are what the endpoint can do.
  const size = first.taken
  const starts: number[] = []
  for (let start = first.taken; start < wallets.length; start += size) starts.push(start)

  const readFrom = async (start: number): Promise<Page[]> => {
    const pages: Page[] = []
    const end = Math.min(start + size, wallets.length)
    for (let at = start; at < end; ) {
      const read = await readPage(wallets.slice(at, end), first.block.number)
      if (read.block.number !== first.block.number || read.block.parentHash !== first.block.parentHash) {
        throw new UpstreamError('The chain changed between two pages')
      }
      if (read.taken === 0) throw tooLittle()
      pages.push({ start: at, read })
      at += read.taken
    }
    return pages
  }
  const pages: Page[] = [{ start: 0, read: first }]
  for (let at = 0; at < starts.length; at += PAGES_RUNNING_MAX) {
    pages.push(...(await Promise.all(starts.slice(at, at + PAGES_RUNNING_MAX).map(readFrom))).flat())
  }
  return mergePages(first, pages)
}

interface Page {
  /** Number of its first wallet among all. */
  readonly start: number
  readonly read: RawRead
}

function tooLittle(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint allows too little gas for one wallet', 'size')
}

/** One read out of pages of the same block: numbers of wallets move by what came before, facts are kept once. */
function mergePages(first: RawRead, pages: readonly Page[]): RawRead {
  const moved = <T extends { readonly wallet: number }>(start: number, items: readonly T[]): T[] =>
    items.map((item) => ({ ...item, wallet: item.wallet + start }))
  return {
    ...first,
    taken: pages.reduce((sum, { read }) => sum + read.taken, 0),
    reserves: onceEach(pages.flatMap(({ read }) => read.reserves)),
    categories: onceEach(pages.flatMap(({ read }) => read.categories)),
    accounts: pages.flatMap(({ start, read }) => moved(start, read.accounts)),
    broken: pages.flatMap(({ start, read }) => moved(start, read.broken)),
  }
}

function onceEach<T extends { readonly market: number; readonly id: number }>(facts: readonly T[]): T[] {
  const known = new Map<string, T>()
  for (const fact of facts) {
    const key = `${fact.market}:${fact.id}`
    if (!known.has(key)) known.set(key, fact)
  }
  return [...known.values()]
}
