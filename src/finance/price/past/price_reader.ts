import type { Address, Hex } from 'viem'
import { priceAtDelete, priceAtInsert, priceAtList } from '../../../../sql/queries.ts'
import { getCacheTtlMs, noteWitnesses, QUORUM } from '../../../chain/past/quorum.ts'
import { ChainUnavailableError, isUnavailable } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import { createRecheck } from '../../../history/recheck.ts'
import { hexFromBytes, toHexDigits } from '../../../history/stored_part.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { createLru } from '../../../lib/lru.ts'
import type { FinanceClient } from '../../chain.ts'
import { type DirectPrice, FEED_RULE_REVISION } from '../price.ts'
import { createPricePrefetcher, type PrefetchedPrice, type PricePrefetcher } from './prefetch.ts'
import { type HistoricalPriceOutcome, type PriceBlock, readPricesAt } from './prices_at.ts'
import type { PriceSource } from './sources.ts'

/** Most blocks per request whose prices are read again because they came from a single endpoint. */
const RECHECKED_MAX = 24
/** Most cached missing prices. */
const MISSING_MAX = 50_000

/** One requested price. */
interface PriceToRead {
  /** Checksummed. */
  readonly token: Address
  readonly block: PriceBlock
  /** True if the block can never be replaced: only then the price is stored. */
  readonly isFinal: boolean
}

const UNKNOWN: HistoricalPriceOutcome = { kind: 'missing', because: 'no source answered for it', witnesses: 0 }

type FoundPrice = Extract<HistoricalPriceOutcome, { kind: 'price' }>

/** A price of the database; `isUndated` if an earlier release stored it without the time of its block. */
type StoredPrice = FoundPrice & { readonly isUndated?: true }

/** Pause of a chain whose endpoints could not tell an undated price anew, milliseconds. */
const UNDATED_PAUSE_MS = 10 * 60_000

/** Reads prices at the newest block or a past one; prices at final blocks are stored and read from the chain once. */
export type PriceReader = ReturnType<typeof createPriceReader>

/** Creates a price reader over a database. */
export function createPriceReader({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const recheck = createRecheck(clock)
  /** When undated prices of a chain are read again, by chain. */
  const undatedUntilMs = new Map<number, number>()
  /** Missing prices at final blocks. Cached but not stored, because another configuration may have a source. */
  const missingPrices = createLru<{ readonly outcome: HistoricalPriceOutcome; readonly untilMs: number }>({
    entriesMax: MISSING_MAX,
    isOver: ({ untilMs }) => untilMs <= clock.monotonicMs(),
  })

  function getMissing(key: string): HistoricalPriceOutcome | undefined {
    const entry = missingPrices.get(key)
    return entry !== undefined && entry.untilMs > clock.monotonicMs() ? entry.outcome : undefined
  }

  function recordMissing(client: FinanceClient, key: string, outcome: HistoricalPriceOutcome): void {
    if (outcome.witnesses === 0) return
    missingPrices.set(key, { outcome, untilMs: clock.monotonicMs() + getCacheTtlMs(client, outcome.witnesses) })
  }

  /** True if a stored price is due for another read. */
  function isDoubtful(client: FinanceClient, { witnesses, isUndated }: StoredPrice): boolean {
    const isUndatedDue = isUndated === true && clock.monotonicMs() >= (undatedUntilMs.get(client.chain.id) ?? 0)
    return isUndatedDue || recheck.isDue(client, witnesses)
  }

  /** Keeps a price whose block's time no endpoint can tell any more, and leaves those of its chain alone for a while. */
  function keepUndated({ chain: { id }, log }: FinanceClient): void {
    const isSaid = clock.monotonicMs() < (undatedUntilMs.get(id) ?? 0)
    undatedUntilMs.set(id, clock.monotonicMs() + UNDATED_PAUSE_MS)
    if (!isSaid)
      log.warn({ msg: 'Kept prices without the time of their block: no endpoint tells them anew', chainId: id })
  }

  async function storePrefetched(
    client: FinanceClient,
    source: PriceSource,
    prefetched: readonly PrefetchedPrice[],
  ): Promise<void> {
    const prices: (PriceToRead & FoundPrice)[] = []
    for (const { token, block, outcome } of prefetched) {
      if (outcome.kind === 'price') prices.push({ token, block, isFinal: true, ...outcome })
      else recordMissing(client, toCacheKey(client, source, { token, block }), outcome)
    }
    recheck.recordAnswer(client, Math.min(...prefetched.map(({ outcome }) => outcome.witnesses)))
    await store(db, client, { source, foundPrices: prices })
  }

  /** Reads the prices of one block again; undefined if all of them are stored and the chain cannot be read now. */
  async function readBlock(
    client: FinanceClient,
    source: PriceSource,
    { group, stored }: { readonly group: readonly PriceToRead[]; readonly stored: ReadonlyMap<string, StoredPrice> },
    work: Work,
  ): Promise<ReadonlyMap<Address, HistoricalPriceOutcome> | undefined> {
    const [first] = group
    if (first === undefined) return undefined
    const tokens = [...new Set(group.map(({ token }) => token))]
    try {
      const isStored = group.some(({ isFinal }) => isFinal)
      const outcomes = await readPricesAt(client, { source, tokens, block: first.block, isStored, clock }, work)
      recheck.recordAnswer(client, Math.min(...[...outcomes.values()].map(({ witnesses }) => witnesses)))
      return outcomes
    } catch (error) {
      const isOptional = group.every((each) => stored.has(toPriceKey(each)))
      if (!isOptional || !(error instanceof UnavailableError) || isUnavailable(error, 'disputed')) throw error
      recheck.recordAnswer(client, 0)
      return undefined
    }
  }

  return {
    /**
     * Returns prices in the order of `requests`. Reads the ones not stored yet, all blocks concurrently, and reads some
     * prices that came from a single endpoint again if another endpoint may confirm them. Throws `UnavailableError` if
     * the chain or the database cannot be read, and if endpoints contradict each other or an earlier price. Notes prices
     * that rest on the word of one endpoint.
     */
    async pricesAt(
      client: FinanceClient,
      { source, requests }: { readonly source: PriceSource; readonly requests: readonly PriceToRead[] },
      work: Work,
    ): Promise<HistoricalPriceOutcome[]> {
      const stored = new Map<string, StoredPrice>()
      for (const [contract, group] of groupBy(requests, ({ token }) => getSourceContract(client, source, token))) {
        for (const [key, price] of await readStored(db, client, { contract, requests: group })) stored.set(key, price)
      }
      const results = new Map<string, HistoricalPriceOutcome>(stored)
      for (const each of requests) {
        const outcome =
          each.isFinal && !stored.has(toPriceKey(each)) ? getMissing(toCacheKey(client, source, each)) : undefined
        if (outcome !== undefined) results.set(toPriceKey(each), outcome)
      }
      const missing = requests.filter((each) => !results.has(toPriceKey(each)))
      const doubtful = requests.filter((each) => {
        const price = stored.get(toPriceKey(each))
        return price !== undefined && isDoubtful(client, price)
      })
      const blocks = [
        ...groupBy(missing, ({ block }) => block.number).values(),
        ...[...groupBy(doubtful, ({ block }) => block.number).values()].slice(0, RECHECKED_MAX),
      ]
      const read = async (group: readonly PriceToRead[]) => {
        if (blocks.length > 1) await yieldToEventLoop()
        const outcomes = await readBlock(client, source, { group, stored }, work)
        if (outcomes === undefined) {
          if (group.some((each) => stored.get(toPriceKey(each))?.isUndated === true)) keepUndated(client)
          return
        }
        const foundPrices = new Map<string, PriceToRead & FoundPrice>()
        const refuted: PriceToRead[] = []
        for (const each of group) {
          const latest = outcomes.get(each.token) ?? UNKNOWN
          const storedPrice = stored.get(toPriceKey(each))
          const outcome =
            storedPrice === undefined ? latest : resolveDispute(client, each, { stored: storedPrice, outcome: latest })
          results.set(toPriceKey(each), outcome)
          if (outcome === storedPrice) {
            if (storedPrice.isUndated === true) keepUndated(client)
          } else if (each.isFinal && outcome.kind === 'price')
            foundPrices.set(toPriceKey(each), { ...each, ...outcome })
          else if (storedPrice !== undefined) refuted.push(each)
          else if (each.isFinal) recordMissing(client, toCacheKey(client, source, each), outcome)
        }
        // Store block by block: a caller that leaves early finds the finished blocks on its retry.
        await store(db, client, { source, foundPrices: [...foundPrices.values()] })
        await deleteStored(db, client, { source, refuted })
      }
      // `allSettled`: one failing block must not discard the prices of the others.
      const settled = await Promise.allSettled(blocks.map(read))
      for (const result of settled) if (result.status === 'rejected') throw result.reason
      const outcomes = requests.map((each) => results.get(toPriceKey(each)) ?? UNKNOWN)
      for (const { witnesses } of outcomes) noteWitnesses(client, witnesses, work)
      return outcomes
    },
    /** Creates a prefetcher for prices of tokens, checksummed, at final blocks that are being read for other data. */
    createPrefetcher: (
      client: FinanceClient,
      query: { readonly source: PriceSource; readonly tokens: readonly Address[] },
    ): PricePrefetcher =>
      createPricePrefetcher(client, {
        ...query,
        clock,
        onPrices: (prices) => storePrefetched(client, query.source, prices),
      }),
  }
}

/**
 * Decides between a stored price and a new reading: two endpoints override the old price, one endpoint does not, and
 * the rounds of a feed never override a price from state. As many endpoints as gave an undated price override it.
 * Throws `ChainUnavailableError` (disputed).
 */
function resolveDispute(
  { chain: { id, name }, log }: FinanceClient,
  { token, block: { number } }: PriceToRead,
  { stored, outcome }: { readonly stored: StoredPrice; readonly outcome: HistoricalPriceOutcome },
): HistoricalPriceOutcome {
  const { units, scale } = stored.price
  const isSame = outcome.kind === 'price' && outcome.price.units === units && outcome.price.scale === scale
  if (isSame && stored.isUndated === true)
    return { ...outcome, witnesses: Math.max(stored.witnesses, outcome.witnesses) }
  if (outcome.witnesses < QUORUM && isSame) return stored
  if (outcome.witnesses === 0) return stored
  const isRound = outcome.kind === 'price' && outcome.evidence === 'round'
  if (!isSame && isRound && stored.evidence === 'state') return stored
  const isOverridden = outcome.witnesses >= (stored.isUndated === true ? stored.witnesses : QUORUM)
  if (!isSame && !isOverridden) {
    throw new ChainUnavailableError(
      'disputed',
      `Cannot believe the price of ${token} at block ${number} of chain ${id} (${name}): an endpoint returned ` +
        'another one before (second witness)',
    )
  }
  if (!isSame) log.warn({ msg: 'Corrected a stored price', chainId: id, token, block: number })
  return outcome
}

/**
 * Returns the configured price contract of a token, part of the stored key: if it changes, prices are read again, and
 * those of a feed also if the rule changes by which feeds are believed.
 */
export function getSourceContract(
  { chain: { prices } }: Pick<FinanceClient, 'chain'>,
  source: PriceSource,
  token: Address,
  feedRule = FEED_RULE_REVISION,
): string {
  if (source.kind === 'aave_market') return source.provider.toLowerCase()
  if (source.kind === 'aave_reserve') return `${source.spoke.toLowerCase()};reserve ${source.reserveId}`
  if (prices.unbacked?.includes(token)) return 'unbacked'
  const feed = prices.usdFeeds[token]?.feed
  if (feed !== undefined) return `${feed.toLowerCase()};rule ${feedRule}`
  return (prices.aaveOracle ?? 'stablecoin').toLowerCase()
}

/** Cache key of a price. */
function toCacheKey(client: FinanceClient, source: PriceSource, price: Pick<PriceToRead, 'token' | 'block'>): string {
  return `${client.chain.id}:${getSourceContract(client, source, price.token)}:${toPriceKey(price)}`
}

async function readStored(
  db: Database,
  client: FinanceClient,
  { contract, requests }: { readonly contract: string; readonly requests: readonly PriceToRead[] },
): Promise<[string, StoredPrice][]> {
  const tokens = requests.map(({ token }) => toHexDigits(token))
  const blocks = requests.map(({ block }) => String(block.number))
  const rows = await priceAtList(db, { chainId: client.chain.id, asker: contract, tokens, blocks })
  const times = new Map(requests.map(({ block }) => [String(block.number), String(block.timestampSec)]))
  // The logs that a request rests on may name another time of the block than its state: a new reading compares them.
  const isSameTime = ({ block, block_time }: (typeof rows)[number]) =>
    block_time === null || String(block_time) === times.get(String(block))
  return rows.filter(isSameTime).map(({ token, block, units, scale, source, evidence, witnesses, block_time }) => [
    `${hexFromBytes(token)}:${block}`,
    {
      kind: 'price',
      price: { units: BigInt(units), scale, source: source as DirectPrice['source'] },
      evidence: evidence as FoundPrice['evidence'],
      witnesses,
      ...(block_time === null && { isUndated: true as const }),
    },
  ])
}

async function store(
  db: Database,
  client: FinanceClient,
  {
    source,
    foundPrices,
  }: { readonly source: PriceSource; readonly foundPrices: readonly (PriceToRead & FoundPrice)[] },
): Promise<void> {
  for (const [contract, prices] of groupBy(foundPrices, ({ token }) => getSourceContract(client, source, token))) {
    await priceAtInsert(db, {
      chainId: client.chain.id,
      asker: contract,
      tokens: prices.map(({ token }) => toHexDigits(token)),
      blocks: prices.map(({ block }) => String(block.number)),
      units: prices.map(({ price }) => String(price.units)),
      scales: prices.map(({ price }) => price.scale),
      sources: prices.map(({ price }) => price.source),
      evidences: prices.map(({ evidence }) => evidence),
      witnesses: prices.map(({ witnesses }) => witnesses),
      blockTimes: prices.map(({ block }) => String(block.timestampSec)),
    })
  }
}

async function deleteStored(
  db: Database,
  client: FinanceClient,
  { source, refuted }: { readonly source: PriceSource; readonly refuted: readonly PriceToRead[] },
): Promise<void> {
  for (const [contract, prices] of groupBy(refuted, ({ token }) => getSourceContract(client, source, token))) {
    await priceAtDelete(db, {
      chainId: client.chain.id,
      asker: contract,
      tokens: prices.map(({ token }) => toHexDigits(token)),
      blocks: prices.map(({ block }) => String(block.number)),
    })
  }
}

function toPriceKey({ token, block }: Pick<PriceToRead, 'token' | 'block'>): string {
  return `${token.toLowerCase() as Hex}:${block.number}`
}
