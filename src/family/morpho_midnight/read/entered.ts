import type { Address, Hex } from 'viem'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { Database } from '../../../db/database.ts'
import { readWalletEntries, WALLET_ENTRIES, type WalletEntry } from '../../../finance/wallet_entry.ts'
import {
  type History,
  HistoryUnavailableError,
  IncompleteError,
  type Stream,
  type StreamTarget,
} from '../../../history/stream.ts'
import { noteUnwitnessed, type Work } from '../../../lib/async/work.ts'
import { PendingError, UnavailableError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import type { ChangeKind, PositionChange } from '../event/change.ts'
import { createEntryFilters, decodeEntries } from '../event/entry.ts'
import type { MidnightDeployment } from '../table.ts'
import { LongLifeError, readChanges } from './lives.ts'
import { getDeployment, type MidnightTarget } from './read.ts'

/** The markets in which a wallet may have anything, and what may be missing. */
export interface EnteredMarkets {
  /** Lower case, in an order that does not depend on their age. */
  readonly marketIds: readonly Hex[]
  /** What its history does not tell, in words for a list. */
  readonly notRead: readonly string[]
}

/** Markets of a wallet while its histories catch up. */
export interface PendingMarkets {
  /** Known ones, usually all; undefined if none can be read ahead. */
  readonly known: EnteredMarkets | undefined
  /** All of them. Throws as `EnteredMarketsReader.read`. */
  readonly all: Promise<EnteredMarkets>
}

/** Changes with which credit or collateral begins: a debt needs collateral. */
const BEGINNINGS: readonly ChangeKind[] = ['buy', 'raise_collateral']

/** Wallets whose markets are remembered, and most markets that are read ahead. */
const WALLETS_MAX = 5_000
const AHEAD_MAX = 200

/** Reads the markets in which wallets may have anything. */
export type EnteredMarketsReader = ReturnType<typeof createEnteredMarketsReader>

/**
 * The stream of the markets that wallets entered themselves, which hold all their debts and collateral. No state lists
 * them: two matching reads, and the replay of the life stream, are the proof.
 */
export const ENTRY_STREAM: Stream<WalletEntry> = {
  name: 'morpho_midnight_market',
  table: WALLET_ENTRIES,
  filters: createEntryFilters,
  decode: (target, logs) => ({ rows: decodeEntries(target, logs), unsettled: [] }),
}

/** The stream target of Midnight on a chain. */
export function toStreamTarget(chainId: number, { midnight, startBlock }: MidnightDeployment): StreamTarget {
  return { chainId, contract: toLowerHex(midnight), startBlock }
}

/** Creates a reader over the history of the process. */
export function createEnteredMarketsReader(options: {
  readonly lives: Stream<PositionChange>
  readonly history: History
  readonly db: Database
}) {
  const { lives, history, db } = options
  /** Markets by changes as of the last read, to read ahead. */
  const known = createLru<readonly Hex[]>({ entriesMax: WALLETS_MAX })

  function toRequest(target: MidnightTarget, wallet: Hex) {
    const { client, block } = target
    return { target: toStreamTarget(client.chain.id, getDeployment(target)), subject: wallet, upTo: block?.number }
  }

  /** The markets that the wallet entered itself, up to the block of the target. */
  async function readOwn(target: MidnightTarget, wallet: Hex, work: Work): Promise<readonly Hex[]> {
    const request = toRequest(target, wallet)
    const ensured = await history.ensure({ ...request, stream: ENTRY_STREAM }, work)
    if (target.block !== undefined && !ensured.isAgreed) noteUnwitnessed(work, [target.client.chain.id])
    const last = getLast(target)
    const query = {
      target: request.target,
      stream: ENTRY_STREAM.name,
      wallet,
      toBlock: Math.min(ensured.storedTo, last),
    }
    const { isWhole, entries } = await readWalletEntries(db, query)
    if (!isWhole && query.toBlock >= request.target.startBlock) throw readAgainError(target)
    return [...entries, ...ensured.tail.filter(({ block }) => block <= last).map(({ entry }) => entry)]
  }

  /**
   * The markets in which the wallet has or had credit or collateral, up to that block, by all that changed its positions;
   * undefined if there is too much of that.
   */
  async function readChanged(target: MidnightTarget, wallet: Hex, work: Work): Promise<readonly Hex[] | undefined> {
    const request = toRequest(target, wallet)
    const ensured = await history.ensure({ ...request, stream: lives }, work).catch((error: unknown) => {
      if (error instanceof LongLifeError) return undefined
      throw error
    })
    if (ensured === undefined) return undefined
    if (target.block !== undefined && !ensured.isAgreed) noteUnwitnessed(work, [target.client.chain.id])
    const last = getLast(target)
    const toBlock = Math.min(ensured.storedTo, last)
    const stored =
      toBlock < request.target.startBlock
        ? []
        : await readChanges(db, { target: request.target, wallet, toBlock, kinds: BEGINNINGS })
    if (stored === 'not_stored') throw readAgainError(target)
    if (stored === 'too_many') return undefined
    const tail = ensured.tail.filter(({ block, kind }) => block <= last && BEGINNINGS.includes(kind))
    return [...stored, ...tail].map(({ market }) => market)
  }

  /** An answer about a past block stays: it waits for all changes, and needs the other history only if they are too many. */
  async function readPast(target: MidnightTarget, wallet: Hex, work: Work): Promise<EnteredMarkets> {
    const changed = await readChanged(target, wallet, work)
    if (changed !== undefined) return toEntered([changed], [])
    return toEntered([await readOwn(target, wallet, work)], [toWords(changed)])
  }

  async function readNow(target: MidnightTarget, wallet: Hex, work: Work): Promise<EnteredMarkets> {
    const [own, changed] = await Promise.all([
      readOwn(target, wallet, work),
      readChanged(target, wallet, work).catch((error: unknown) => {
        if (error instanceof UnavailableError) return error
        throw error
      }),
    ])
    if (changed === undefined || changed instanceof UnavailableError) return toEntered([own], [toWords(changed)])
    known.set(toKey(target, wallet), changed)
    return toEntered([own, changed], [])
  }

  return {
    /**
     * The markets up to the block of the target. Those with debts and collateral are complete in any case: strangers can
     * delay only the list of the wallet's purchases, by taking its offers, and then `notRead` of an answer about the newest
     * block names its credits. Throws `UnavailableError` with the progress until the histories are complete.
     */
    read: (target: MidnightTarget, wallet: Address, work: Work) =>
      (target.block === undefined ? readNow : readPast)(target, toLowerHex(wallet), work),
    /** Starts reading those up to the newest block, and returns the known ones, usually all. Throws as `Database.run`. */
    async prefetch(target: MidnightTarget, wallet: Address, work: Work): Promise<PendingMarkets> {
      const subject = toLowerHex(wallet)
      const all = readNow(target, subject, work)
      // Swallow the rejection here; awaiting callers still get it.
      all.catch(() => {})
      const query = { target: toRequest(target, subject).target, stream: ENTRY_STREAM.name, wallet: subject }
      const { isBegun, entries } = await readWalletEntries(db, { ...query, toBlock: Number.MAX_SAFE_INTEGER })
      const ahead = toEntered([entries, known.get(toKey(target, subject)) ?? []], [])
      return { known: isBegun && ahead.marketIds.length <= AHEAD_MAX ? ahead : undefined, all }
    },
  }
}

function toKey({ client }: MidnightTarget, wallet: Hex): string {
  return `${client.chain.id}:${wallet}`
}

/** Lists with markets that may have debts come first, should there be too many. */
function toEntered(lists: readonly (readonly Hex[])[], notRead: readonly string[]): EnteredMarkets {
  return { marketIds: [...new Set(lists.flatMap((list) => list.toSorted()))], notRead }
}

function getLast({ block }: MidnightTarget): number {
  return block === undefined ? Number.MAX_SAFE_INTEGER : Number(block.number)
}

/** Says what is not known without all changes. A failed proof says that logs are missing, of any market. */
function toWords(reason: UnavailableError | undefined): string {
  return reason instanceof HistoryUnavailableError || reason?.cause instanceof IncompleteError
    ? 'debts in markets of morpho-midnight whose logs are missing: a replay of the others is not what the contract has'
    : 'credits in morpho-midnight that the wallet bought by offers of its own: their takes are not all read'
}

function readAgainError({ client: { chain } }: MidnightTarget): PendingError {
  return new PendingError(`The history of chain ${chain.id} (${chain.name}) is not complete any more: it is read again`)
}
