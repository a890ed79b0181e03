import type { Address, Hex } from 'viem'
import insertSql from '../../sql/queries/price_at_insert.sql' with { type: 'text' }
import listSql from '../../sql/queries/price_at_list.sql' with { type: 'text' }
import { type PriceAsker, type PriceAtOutcome, type PriceBlock, readPricesAt } from '../chain/past/prices_at.ts'
import type { UsdPrice } from '../chain/price.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { together } from '../lib/async/together.ts'
import type { Clock } from '../lib/clock.ts'
import { grouped } from '../lib/grouped.ts'
import { fromBytes, toDigits } from './rows/part.ts'

const list = query(listSql, 'read')
const insert = query(insertSql, 'read')

/** One price that is wanted. */
interface WantedPrice {
  /** Checksummed. */
  readonly token: Address
  readonly block: PriceBlock
  /** True if the block can never be replaced: only then the price is kept. */
  readonly isFinal: boolean
}

const UNKNOWN: PriceAtOutcome = { kind: 'missing', because: 'no source answered for it' }

type Found = Extract<PriceAtOutcome, { kind: 'price' }>

/** Prices at past blocks, each read from the chain once. */
export interface PriceHistory {
  /**
   * Prices in the order in which they are wanted. Those that are not kept yet are read, all blocks at the same time.
   * Throws `UnavailableError` if the chain or the database cannot be read.
   */
  pricesAt(
    client: ChainClient,
    question: { readonly asker: PriceAsker; readonly wanted: readonly WantedPrice[] },
    signal: AbortSignal,
  ): Promise<PriceAtOutcome[]>
}

/** Makes the history of prices over a database. */
export function createPriceHistory({ db, clock }: { readonly db: Database; readonly clock: Clock }): PriceHistory {
  return {
    async pricesAt(client, { asker, wanted }, signal) {
      const known = new Map<string, PriceAtOutcome>()
      for (const [name, group] of grouped(wanted, ({ token }) => askerOf(client, asker, token))) {
        for (const [key, found] of await readKept(db, client, { name, wanted: group })) known.set(key, found)
      }
      const missing = wanted.filter((each) => !known.has(keyOf(each)))
      const blocks = [...grouped(missing, ({ block }) => block.number).values()]
      const read = (group: readonly WantedPrice[]) => async (shared: AbortSignal) => {
        const [first] = group
        if (first === undefined) return
        const tokens = [...new Set(group.map(({ token }) => token))]
        const outcomes = await readPricesAt(client, { asker, tokens, block: first.block, clock }, shared)
        for (const each of group) known.set(keyOf(each), outcomes.get(each.token) ?? UNKNOWN)
        const found = group.flatMap((each) => {
          const outcome = known.get(keyOf(each))
          return each.isFinal && outcome?.kind === 'price' ? [{ ...each, ...outcome }] : []
        })
        // Kept block by block: a caller who leaves before the last one finds the others when they come back.
        await keep(db, client, { asker, found })
      }
      await together(blocks.map(read), signal)
      return wanted.map((each) => known.get(keyOf(each)) ?? UNKNOWN)
    },
  }
}

/** The contract that configuration names for a token: if that changes, its prices are found anew. */
function askerOf({ chain: { prices } }: ChainClient, asker: PriceAsker, token: Address): string {
  if (asker.kind === 'aave_market') return asker.provider.toLowerCase()
  return (prices.usdFeeds[token]?.feed ?? prices.aaveOracle ?? 'stablecoin').toLowerCase()
}

async function readKept(
  db: Database,
  client: ChainClient,
  { name, wanted }: { readonly name: string; readonly wanted: readonly WantedPrice[] },
): Promise<[string, Found][]> {
  const tokens = wanted.map(({ token }) => toDigits(token))
  const blocks = wanted.map(({ block }) => String(block.number))
  const rows = await list(db, [client.chain.id, name, tokens, blocks])
  return rows.map(({ token, block, units, scale, source, evidence }) => [
    `${fromBytes(token)}:${block}`,
    {
      kind: 'price',
      price: { units: BigInt(units), scale, source: source as UsdPrice['source'] },
      evidence: evidence as Found['evidence'],
    },
  ])
}

async function keep(
  db: Database,
  client: ChainClient,
  { asker, found }: { readonly asker: PriceAsker; readonly found: readonly (WantedPrice & Found)[] },
): Promise<void> {
  for (const [name, prices] of grouped(found, ({ token }) => askerOf(client, asker, token))) {
    await insert(db, [
      ...([client.chain.id, name, prices.map(({ token }) => toDigits(token))] as const),
      prices.map(({ block }) => String(block.number)),
      prices.map(({ price }) => String(price.units)),
      prices.map(({ price }) => price.scale),
      prices.map(({ price }) => price.source),
      prices.map(({ evidence }) => evidence),
    ])
  }
}

function keyOf({ token, block }: Pick<WantedPrice, 'token' | 'block'>): string {
  return `${token.toLowerCase() as Hex}:${block.number}`
}
