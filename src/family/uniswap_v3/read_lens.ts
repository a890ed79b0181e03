import type { Hex } from 'viem'
import { RpcRefusedError } from '../../chain/client.ts'
import { UpstreamError } from '../../lib/error.ts'
import { decodeLens, encodeList, encodeOne, type LensSubject } from './abi.ts'
import type { RawRead } from './state.ts'

/** Pages of one list that are read at the same time. */
const PAGES_RUNNING_MAX = 4
/** Longest answer of one page, bytes: as hexadecimal text a quarter of what the transport reads. */
const PAGE_BYTES_MAX = 1_000_000

/** Runs the lens on one endpoint, whichever way. */
export type CallLens = (call: { readonly data: Hex; readonly block: bigint | 'latest' }) => Promise<Hex>

/** How the lens is read on one rung. */
export interface LensSource {
  readonly subject: LensSubject
  readonly call: CallLens
  /** Positions per call; the lens itself reads no more than 512. */
  readonly pageSize: number
  /** Told the block of the first page; throws where it is behind what others have shown. */
  readonly observeHead: (blockNumber: bigint) => void
  /** Refuses a list that is too long before its further pages are read. */
  readonly checkBalances: (managers: RawRead['managers']) => void
}

/**
 * A wallet's whole list: one call at the latest block, and for long lists further ones pinned to that block. Throws
 * `UpstreamError` where the pages do not belong to one block, `RpcRefusedError` where a call is not enough for one position.
 */
export async function readWalletByLens(source: LensSource, wallet: Hex): Promise<RawRead> {
  const { subject, call, pageSize, observeHead, checkBalances } = source
  const readPage = async (offset: number, count: number, block: bigint | 'latest'): Promise<RawRead> => {
    const data = encodeList(subject, { wallet, offset, count, bytesMax: PAGE_BYTES_MAX })
    return decodeLens(await call({ data, block }))
  }
  const first = await readPage(0, pageSize, 'latest')
  observeHead(first.block.number)
  checkBalances(first.managers)
  const total = first.managers.reduce((sum, { balance = 0 }) => sum + balance, 0)
  // After a page that ended early for want of gas or bytes, pages of its size are what the endpoint can do.
  const size = first.taken > 0 ? first.taken : pageSize
  const starts: number[] = []
  for (let offset = first.taken; offset < total; offset += size) starts.push(offset)
  if (starts.length > 0 && first.taken === 0) throw tooLittle()

  const pages: RawRead[][] = []
  const readFrom = async (start: number): Promise<RawRead[]> => {
    const read: RawRead[] = []
    const end = Math.min(start + size, total)
    for (let offset = start; offset < end; ) {
      const page = await readPage(offset, end - offset, first.block.number)
      if (page.block.number !== first.block.number || page.block.parentHash !== first.block.parentHash) {
        throw new UpstreamError('The chain changed between two pages')
      }
      if (page.taken === 0) throw tooLittle()
      read.push(page)
      offset += page.taken
    }
    return read
  }
  for (let at = 0; at < starts.length; at += PAGES_RUNNING_MAX) {
    pages.push(...(await Promise.all(starts.slice(at, at + PAGES_RUNNING_MAX).map(readFrom))))
  }
  return mergeReads(first, pages.flat())
}

/** The position of one id on every manager that knows it, in one call. */
export async function readOneByLens(source: LensSource, tokenId: bigint): Promise<RawRead> {
  const read = decodeLens(await source.call({ data: encodeOne(source.subject, tokenId), block: 'latest' }))
  source.observeHead(read.block.number)
  return read
}

function tooLittle(): RpcRefusedError {
  return new RpcRefusedError(0, 'The endpoint allows too little gas for one position', 'size')
}

/** One read out of pages of the same block: numbers of tokens and pools move by what came before. */
function mergeReads(first: RawRead, others: readonly RawRead[]): RawRead {
  const merged = {
    tokens: [...first.tokens],
    pools: [...first.pools],
    positions: [...first.positions],
    broken: [...first.broken],
    feeds: [...first.feeds],
  }
  let taken = first.taken
  for (const page of others) {
    const [tokensBefore, poolsBefore] = [merged.tokens.length, merged.pools.length]
    const moved = (token: number): number => token + tokensBefore
    merged.tokens.push(...page.tokens)
    merged.pools.push(
      ...page.pools.map((each) => ({ ...each, token0: moved(each.token0), token1: moved(each.token1) })),
    )
    merged.positions.push(...page.positions.map((each) => ({ ...each, pool: each.pool + poolsBefore })))
    merged.feeds.push(...page.feeds.map((each) => ({ ...each, token: moved(each.token) })))
    merged.broken.push(...page.broken)
    taken += page.taken
  }
  return { ...first, ...merged, taken }
}
