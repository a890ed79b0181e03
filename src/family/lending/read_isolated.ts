import type { Hex } from 'viem'
import type { Block } from '../../chain/block.ts'
import { type LensAccess, type LensReading, readByLens } from '../../chain/call/lens.ts'
import { readPages } from '../../chain/call/pages.ts'
import type { Endpoint } from '../../chain/rpc/client.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { getPriceSources, type PriceSources } from '../../finance/price/price_sources.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { FamilyTarget } from '../moment.ts'

/*
 * Positions of one wallet in isolated markets that it names: those of Morpho, whose one contract holds them all, each by
 * its id.
 */

/** What a lens answers of some of the markets: an entry for each from the first on. */
interface Page {
  readonly block: Block
  /** Number of requested markets with an entry. */
  readonly taken: number
  readonly entries: readonly unknown[]
}

/** A lens that reads a wallet's positions in markets. */
interface IsolatedLens<Query extends { readonly marketIds: readonly Hex[] }, Raw extends Page> {
  /** Names its readings. */
  readonly topic: string
  readonly runtime: Hex
  /** Markets in one call, by mode. */
  readonly pageSizes: Readonly<Record<LensAccess['mode'], number>>
  /** Most markets of a light call. */
  readonly lightMax: number
  readonly encode: (query: Query, sources: PriceSources) => Hex
  readonly decode: (answer: Hex) => Raw
  readonly clock: Clock
}

/**
 * Creates what reads markets from one endpoint, in pages at one block, usually one page. If `read`, which interprets the
 * answer, throws, the endpoint has failed. The reading throws as `Endpoint.call`.
 */
export function createIsolatedReading<Query extends { readonly marketIds: readonly Hex[] }, Raw extends Page>({
  topic,
  runtime,
  pageSizes,
  lightMax,
  encode,
  decode,
  clock,
}: IsolatedLens<Query, Raw>) {
  async function readMarkets(
    { mode: way, call, ...paging }: LensAccess,
    query: Query,
    chain: FinanceChain,
  ): Promise<Omit<Raw, 'taken'>> {
    const { marketIds } = query
    const sources = getPriceSources(chain)
    const [{ page: first }, ...nextPages] = await readPages<Raw>({
      ...paging,
      pageSize: pageSizes[way],
      countMin: marketIds.length,
      async read({ start, end, block }) {
        const data = encode({ ...query, marketIds: marketIds.slice(start, end) }, sources)
        return decode(await call({ data, block, isLight: marketIds.length <= lightMax }))
      },
      count: () => marketIds.length,
    })
    return { ...first, entries: [first, ...nextPages.map(({ page }) => page)].flatMap(({ entries }) => entries) }
  }

  return <T>(read: (raw: Omit<Raw, 'taken'>, query: Query, chain: FinanceChain) => T) =>
    async (
      endpoint: Endpoint,
      { target, query }: { readonly target: FamilyTarget<unknown>; readonly query: Query },
      work: Work,
    ): Promise<T> => {
      const { chain } = target.client
      const reading: LensReading<T> = {
        topic,
        runtime,
        chainId: chain.id,
        at: target.block,
        clock,
        read: async (lens) => read(await readMarkets(lens, query, chain), query, chain),
      }
      return await readByLens(endpoint, reading, work)
    }
}
