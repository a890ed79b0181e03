import type { Hex } from 'viem'
import type { Endpoint } from '../../chain/client.ts'
import type { LensAccess } from '../../chain/lens.ts'
import { type PlacedPages, readPages } from '../../chain/lens_pages.ts'
import { decodeLens, encodeList, encodeOne, type LensSubject } from './abi.ts'
import type { RawRead } from './state.ts'

/** Longest answer of one page, bytes: as hexadecimal text a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000

/** How the lens is read on one rung. */
export interface LensSource extends LensAccess {
  readonly subject: LensSubject
  /** Positions per call; the lens itself reads no more than 512. */
  readonly pageSize: number
  /** Told the block of a page that was read at the latest; throws where it is not to be believed. */
  readonly observeBlock: Endpoint['observeBlock']
  /** Refuses a list that is too long before its further pages are read. */
  readonly checkBalances: (managers: RawRead['managers']) => void
}

/**
 * A wallet's whole list: one call at the latest block, and for long lists all pages at a block that is pinned. Throws
 * `UpstreamError` where the pages do not belong to one block, `RpcRefusedError` where a call is not enough for one position.
 */
export async function readWalletByLens(source: LensSource, wallet: Hex): Promise<RawRead> {
  const { subject, call, checkBalances, ...paging } = source
  const pages = await readPages<RawRead>({
    ...paging,
    async read({ start, end, block }) {
      const data = encodeList(subject, { wallet, offset: start, count: end - start, bytesMax: PAGE_BYTES_MAX })
      return decodeLens(await call({ data, block }))
    },
    count({ managers }) {
      checkBalances(managers)
      return managers.reduce((sum, { balance = 0 }) => sum + balance, 0)
    },
  })
  return mergePages(pages)
}

/** The position of one id on every manager that knows it, in one call. */
export async function readOneByLens(source: LensSource, tokenId: bigint): Promise<RawRead> {
  const read = decodeLens(await source.call({ data: encodeOne(source.subject, tokenId), block: 'latest' }))
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
