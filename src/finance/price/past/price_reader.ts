import type { Address, Hex } from 'viem'
import { priceAtDelete, priceAtInsert, priceAtList } from '../../../../sql/queries.ts'
import { DisputeError, getCacheTtlMs, QUORUM } from '../../../chain/past/quorum.ts'
import type { Database } from '../../../db/database.ts'
import { createRecheck } from '../../../history/recheck.ts'
import { hexFromBytes, toHexDigits } from '../../../history/stored_part.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { createLru } from '../../../lib/lru.ts'
import type { FinanceClient } from '../../chain.ts'
import type { DirectPrice } from '../price.ts'
import { createPricePrefetcher, type PrefetchedPrice, type PricePrefetcher } from './prefetch.ts'
import { type HistoricalPriceOutcome, type PriceBlock, readPricesAt } from './prices_at.ts'
import type { PriceSource } from './sources.ts'

/** Blocks whose prices one request reads again because one endpoint alone gave them. */
const RECHECKED_MAX = 24
/** Prices that are remembered to be missing, and for how long if one endpoint alone says so though there are others. */
const ABSENT_MAX = 50_000

/** One price that is wanted. */
interface PriceToRead {
  /** Checksummed. */
  readonly token: Address
  readonly block: PriceBlock
  /** True if the block can never be replaced: only then the price is kept. */
  readonly isFinal: boolean
}

const UNKNOWN: HistoricalPriceOutcome = { kind: 'missing', because: 'no source answered for it', witnesses: 0 }

type FoundPrice = Extract<HistoricalPriceOutcome, { kind: 'price' }>

/** Prices at the newest block or a past one; those at a block that is final are kept and read from the chain once. */
export type PriceReader = ReturnType<typeof createPriceReader>

/** Makes it over a database. */
export function createPriceReader({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const recheck = createRecheck(clock)
  /** That final blocks have no price. It is only remembered: another configuration may know one. */
  const absent = createLru<{ readonly outcome: HistoricalPriceOutcome; readonly untilMs: number }>({
    entriesMax: ABSENT_MAX,
  })

  function absentOf(name: string): HistoricalPriceOutcome | undefined {
    const found = absent.get(name)
    return found !== undefined && found.untilMs > clock.monotonicMs() ? found.outcome : undefined
  }

  function noteAbsent(client: FinanceClient, name: string, outcome: HistoricalPriceOutcome): void {
    if (outcome.witnesses === 0) return
    absent.set(name, { outcome, untilMs: clock.monotonicMs() + getCacheTtlMs(client, outcome.witnesses) })
  }

  async function learn(client: FinanceClient, asker: PriceSource, learned: readonly PrefetchedPrice[]): Promise<void> {
    const found: (PriceToRead & FoundPrice)[] = []
    for (const { token, block, outcome } of learned) {
      if (outcome.kind === 'price') found.push({ token, block, isFinal: true, ...outcome })
      else noteAbsent(client, nameOf(client, asker, { token, block }), outcome)
    }
    recheck.answered(client, Math.min(...learned.map(({ outcome }) => outcome.witnesses)))
    await keep(db, client, { asker, found })
  }

  /** Reads the prices of one block anew; undefined if all of them are kept already and the chain cannot be read now. */
  async function readBlock(
    client: FinanceClient,
    asker: PriceSource,
    { group, kept }: { readonly group: readonly PriceToRead[]; readonly kept: ReadonlyMap<string, FoundPrice> },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<Address, HistoricalPriceOutcome> | undefined> {
    const [first] = group
    if (first === undefined) return undefined
    const tokens = [...new Set(group.map(({ token }) => token))]
    try {
      const isKept = group.some(({ isFinal }) => isFinal)
      const outcomes = await readPricesAt(client, { asker, tokens, block: first.block, isKept, clock }, signal)
      recheck.answered(client, Math.min(...[...outcomes.values()].map(({ witnesses }) => witnesses)))
      return outcomes
    } catch (error) {
      const isSpare = group.every((each) => kept.has(keyOf(each)))
      if (!isSpare || !(error instanceof UnavailableError) || error instanceof DisputeError) throw error
      recheck.answered(client, 0)
      return undefined
    }
  }

  return {
    /**
     * Prices in the order in which they are wanted. Those that are not kept yet are read, all blocks at the same time,
     * and some of those that one endpoint alone gave are read again if another one may serve. Throws `UnavailableError`
     * if the chain or the database cannot be read, and if endpoints contradict each other or what one of them gave
     * before.
     */
    async pricesAt(
      client: FinanceClient,
      { asker, wanted }: { readonly asker: PriceSource; readonly wanted: readonly PriceToRead[] },
      signal: AbortSignal,
    ): Promise<HistoricalPriceOutcome[]> {
      const kept = new Map<string, FoundPrice>()
      for (const [name, group] of groupBy(wanted, ({ token }) => askerOf(client, asker, token))) {
        for (const [key, found] of await readKept(db, client, { name, wanted: group })) kept.set(key, found)
      }
      const known = new Map<string, HistoricalPriceOutcome>(kept)
      for (const each of wanted) {
        const outcome = each.isFinal && !kept.has(keyOf(each)) ? absentOf(nameOf(client, asker, each)) : undefined
        if (outcome !== undefined) known.set(keyOf(each), outcome)
      }
      const missing = wanted.filter((each) => !known.has(keyOf(each)))
      const doubtful = wanted.filter((each) => recheck.isDue(client, kept.get(keyOf(each))?.witnesses ?? QUORUM))
      const blocks = [
        ...groupBy(missing, ({ block }) => block.number).values(),
        ...[...groupBy(doubtful, ({ block }) => block.number).values()].slice(0, RECHECKED_MAX),
      ]
      const read = async (group: readonly PriceToRead[]) => {
        if (blocks.length > 1) await yieldToEventLoop()
        const outcomes = await readBlock(client, asker, { group, kept }, signal)
        if (outcomes === undefined) return
        const found = new Map<string, PriceToRead & FoundPrice>()
        const denied: PriceToRead[] = []
        for (const each of group) {
          const read = outcomes.get(each.token) ?? UNKNOWN
          const before = kept.get(keyOf(each))
          const outcome = before === undefined ? read : believed(client, each, { before, outcome: read })
          known.set(keyOf(each), outcome)
          if (each.isFinal && outcome.kind === 'price') found.set(keyOf(each), { ...each, ...outcome })
          else if (before !== undefined) denied.push(each)
          else if (each.isFinal) noteAbsent(client, nameOf(client, asker, each), outcome)
        }
        // Kept block by block: a caller who leaves before the last one finds the others when they come back.
        await keep(db, client, { asker, found: [...found.values()] })
        await forget(db, client, { asker, denied })
      }
      // One that fails takes none of the others with it: what they give is kept.
      const ends = await Promise.allSettled(blocks.map(read))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
      return wanted.map((each) => known.get(keyOf(each)) ?? UNKNOWN)
    },
    /** Prices of tokens, checksummed, that somebody will want at final blocks of which something else is read now. */
    ahead: (
      client: FinanceClient,
      question: { readonly asker: PriceSource; readonly tokens: readonly Address[] },
    ): PricePrefetcher =>
      createPricePrefetcher(client, { ...question, clock, learn: (learned) => learn(client, question.asker, learned) }),
  }
}

/**
 * What is believed if one endpoint alone gave a price before: two of them decide against it, one does not, and the rounds
 * that feeds keep say nothing against what was the state. Throws `DisputeError`.
 */
function believed(
  { chain: { id, name }, log }: FinanceClient,
  { token, block: { number } }: PriceToRead,
  { before, outcome }: { readonly before: FoundPrice; readonly outcome: HistoricalPriceOutcome },
): HistoricalPriceOutcome {
  const { units, scale } = before.price
  const isSame = outcome.kind === 'price' && outcome.price.units === units && outcome.price.scale === scale
  if (outcome.witnesses < QUORUM && isSame) return before
  const isComparable = outcome.kind === 'price' ? outcome.evidence !== 'round' : outcome.witnesses > 0
  if (!isSame && !isComparable && before.evidence === 'state') return before
  if (!isSame && outcome.witnesses < QUORUM) {
    throw new DisputeError(
      `Cannot believe the price of ${token} at block ${number} of chain ${id} (${name}): one endpoint gave another one ` +
        'before (second witness)',
    )
  }
  if (!isSame) log.warn({ msg: 'Replaced a price that one RPC endpoint had given', chainId: id, token, block: number })
  return outcome
}

/** The contract that configuration names for a token: if that changes, its prices are found anew. */
function askerOf({ chain: { prices } }: FinanceClient, asker: PriceSource, token: Address): string {
  if (asker.kind === 'aave_market') return asker.provider.toLowerCase()
  return (prices.usdFeeds[token]?.feed ?? prices.aaveOracle ?? 'stablecoin').toLowerCase()
}

/** Names a price in memory. */
function nameOf(client: FinanceClient, asker: PriceSource, price: Pick<PriceToRead, 'token' | 'block'>): string {
  return `${client.chain.id}:${askerOf(client, asker, price.token)}:${keyOf(price)}`
}

async function readKept(
  db: Database,
  client: FinanceClient,
  { name, wanted }: { readonly name: string; readonly wanted: readonly PriceToRead[] },
): Promise<[string, FoundPrice][]> {
  const tokens = wanted.map(({ token }) => toHexDigits(token))
  const blocks = wanted.map(({ block }) => String(block.number))
  const rows = await priceAtList(db, { chainId: client.chain.id, asker: name, tokens, blocks })
  return rows.map(({ token, block, units, scale, source, evidence, witnesses }) => [
    `${hexFromBytes(token)}:${block}`,
    {
      kind: 'price',
      price: { units: BigInt(units), scale, source: source as DirectPrice['source'] },
      evidence: evidence as FoundPrice['evidence'],
      witnesses,
    },
  ])
}

async function keep(
  db: Database,
  client: FinanceClient,
  { asker, found }: { readonly asker: PriceSource; readonly found: readonly (PriceToRead & FoundPrice)[] },
): Promise<void> {
  for (const [name, prices] of groupBy(found, ({ token }) => askerOf(client, asker, token))) {
    await priceAtInsert(db, {
      chainId: client.chain.id,
      asker: name,
      tokens: prices.map(({ token }) => toHexDigits(token)),
      blocks: prices.map(({ block }) => String(block.number)),
      units: prices.map(({ price }) => String(price.units)),
      scales: prices.map(({ price }) => price.scale),
      sources: prices.map(({ price }) => price.source),
      evidences: prices.map(({ evidence }) => evidence),
      witnesses: prices.map(({ witnesses }) => witnesses),
    })
  }
}

async function forget(
  db: Database,
  client: FinanceClient,
  { asker, denied }: { readonly asker: PriceSource; readonly denied: readonly PriceToRead[] },
): Promise<void> {
  for (const [name, prices] of groupBy(denied, ({ token }) => askerOf(client, asker, token))) {
    await priceAtDelete(db, {
      chainId: client.chain.id,
      asker: name,
      tokens: prices.map(({ token }) => toHexDigits(token)),
      blocks: prices.map(({ block }) => String(block.number)),
    })
  }
}

function keyOf({ token, block }: Pick<PriceToRead, 'token' | 'block'>): string {
  return `${token.toLowerCase() as Hex}:${block.number}`
}
