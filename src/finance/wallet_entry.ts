import type { Hex } from 'viem'
import { walletEntryStore } from '../../sql/functions.ts'
import { walletEntryList } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import {
  hexFromBytes,
  nameParams,
  partParams,
  STORE_DEADLINE_MS,
  storeInChunks,
  toHexDigits,
} from '../history/stored_part.ts'
import type { StreamTable, StreamTarget } from '../history/stream.ts'
import { coalesce } from '../lib/async/coalesce.ts'
import { groupBy } from '../lib/group_by.ts'
import { memoize } from '../lib/memoize.ts'

/**
 * A wallet entered something of a place at this block or before: a market, or a position that it was sent, by its id. It
 * says no more than where to look. Addresses and ids are lower case.
 */
export interface WalletEntry {
  readonly wallet: Hex
  readonly entry: Hex
  readonly block: number
}

/** Entries as a stream stores them: of each wallet and entry the first. */
export const WALLET_ENTRIES: StreamTable<WalletEntry> = {
  subjectOf: ({ wallet }) => wallet,
  store: storeInChunks((db, part) => {
    const { rows } = part
    const columns = {
      wallets: rows.map(({ wallet }) => toHexDigits(wallet)),
      entries: rows.map(({ entry }) => toHexDigits(entry)),
      blocks: rows.map(({ block }) => block),
    }
    return walletEntryStore(db, { ...partParams(part), ...columns }, { deadlineMs: STORE_DEADLINE_MS })
  }),
}

/** In their order, of each wallet and entry the first. */
export function keepFirstEntries(all: readonly WalletEntry[]): WalletEntry[] {
  const first = new Map<string, WalletEntry>()
  for (const each of all) {
    const key = `${each.wallet}${each.entry}`
    if (!first.has(key)) first.set(key, each)
  }
  return [...first.values()]
}

/** Which entries are wanted. */
interface EntriesQuestion {
  readonly place: StreamTarget
  readonly stream: string
  readonly wallet: Hex
  readonly toBlock: number
}

/** What a wallet is known to have entered up to a block. */
interface KnownEntries {
  /** True if it is all. */
  readonly isWhole: boolean
  /** True if anything of the wallet's history is known. */
  readonly isBegun: boolean
  readonly entries: readonly Hex[]
}

/** Wallets in one statement. */
const WALLETS_MAX = 500

/** Reads that; wallets of one place that are asked about at the same time, in one statement. Throws as `Database.run`. */
export function readWalletEntries(db: Database, question: EntriesQuestion): Promise<KnownEntries> {
  return readerOf(db)(question)
}

const readerOf = memoize((db: Database) =>
  coalesce<EntriesQuestion, KnownEntries>({
    nameOf: ({ place: { chainId, contract, startBlock }, stream }) => `${chainId}:${contract}:${startBlock}:${stream}`,
    itemsMax: WALLETS_MAX,
    answer: (questions) => readAll(db, questions),
  }),
)

async function readAll(db: Database, questions: readonly EntriesQuestion[]): Promise<readonly KnownEntries[]> {
  const [first] = questions
  if (first === undefined) return []
  const { startBlock } = first.place
  const wallets = questions.map(({ wallet }) => toHexDigits(wallet))
  const toBlocks = questions.map(({ toBlock }) => Math.max(startBlock, toBlock))
  const rows = await walletEntryList(db, { ...nameParams(first), wallets, fromBlock: startBlock, toBlocks })
  const byQuestion = groupBy(rows, ({ no }) => no)
  return questions.map((_, index) => {
    const its = byQuestion.get(index + 1) ?? []
    return {
      isWhole: its[0]?.covered === true,
      isBegun: its[0]?.begun === true,
      entries: its.flatMap(({ entry }) => (entry === null ? [] : hexFromBytes(entry))),
    }
  })
}
