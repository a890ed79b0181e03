import * as v from 'valibot'
import { type Address, getAddress, isAddress } from 'viem'
import { SOLANA_CHAIN_ID, type SolanaClient } from '../chain/solana/client.ts'
import type { Database } from '../db/database.ts'
import type { FinanceClient } from '../finance/chain.ts'
import type { FirstBlocks } from '../finance/first_blocks.ts'
import type { History, HistoryReader } from '../history/stream.ts'
import type { Feature, Route } from '../http/route/route.ts'
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { isBase58Address } from '../lib/text/base58.ts'
import type { AccountHoldingsReader, HoldingsReader } from './holding.ts'
import type { AccountWatcher, Watchable, Watcher } from './watch.ts'

/*
 * All families have one shape, which `test/unit/layers_test.ts` enforces. Their folders have no circular imports.
 *
 * A part is a folder, or a file where it is little.
 *
 *     table/     addresses of the contracts, by chain, and their sources
 *     event/     pure: rows from logs, if the family has a history
 *     math/      pure: figures from state
 *     present/   pure: the figures as answers have them, and the schemas of answers
 *     read/      queries a chain: state at one pinned block, and its interpretation; log streams; readers for triggers
 *     holdings   queries a chain too: the rows of a wallet's portfolio
 *     exit       pure: how these rows are taken out, as steps
 *     watch      queries a chain too: the figures that triggers watch
 *     snapshot   queries a chain too: a market at a midnight
 *     protocol   what its kind asks of it, instead of routes and holdings
 *     routes/    the only part that knows http: input, price in credits, output
 *     mod        the definition that `family/mod.ts` lists: name, settings, routes, histories, work
 *
 * Rows go into a table of the kind or of the family, whose migration lets it inherit `history_row`. Folders of
 * `test/contract/family` hold families that the service does not list, each with a history.
 */

/**
 * What histories tell an answer that has a receipt, and no state proves: the receipt states it, so that the answer is
 * computed again without histories.
 */
export interface Testimony {
  /** Returns texts that a history tells of a chain, each called by another name; reads them with that client if it must. */
  tell(
    subject: { readonly chainId: number; readonly name: string },
    read: (client: FinanceClient) => Promise<readonly string[]>,
  ): Promise<readonly string[]>
}

export interface FamilyServices {
  /** Clients of the EVM chains that are served, by chain id. */
  readonly clients: ReadonlyMap<number, FinanceClient>
  /** Absent if Solana is not served. */
  readonly solana: SolanaClient | undefined
  readonly db: Database
  /** Names this process in leases. */
  readonly holder: string
  readonly history: History
  /** Absent where an answer must hold all that it rests on. */
  readonly firstBlocks?: FirstBlocks | undefined
  /** Present where an answer must hold all that it rests on. */
  readonly testimony?: Testimony | undefined
  readonly clock: Clock
  readonly log: Log
}

/** Input of the route factories. Checking input and describing routes needs no connection. */
export interface FamilySetup<Setting> {
  /** EVM chains that are served, with this family or without. */
  readonly chainIds: readonly number[]
  /** Settings of the family on each served chain that has it, by chain id. */
  readonly settings: ReadonlyMap<number, Setting>
  /** Connects; called at the first read. */
  readonly connect: () => FamilyServices
}

/** Facts about a protocol that do not depend on its settings. */
interface FamilyFacts {
  /** Path segment: `uniswap-v3`. */
  readonly name: string
  /** Other names of the path segment. */
  readonly aliases: readonly string[]
  /** Network whose rows of `CHAINS_FILE` describe the family. */
  readonly network: 'evm' | 'solana'
  /**
   * Revision of the formulas and the presentation: it increases if the same readings give another answer.
   * `test/support/receipt/golden` detects a missing increase.
   */
  readonly revision: number
}

/** A protocol as its folder describes it; `revision` defaults to 1. */
interface FamilyDefinition<Entries extends v.ObjectEntries, Setting>
  extends Omit<FamilyFacts, 'revision'>,
    Partial<Pick<FamilyFacts, 'revision'>> {
  /** True if the contracts name their price sources, so that the chain's sources affect no figure. @default false */
  readonly hasOwnPrices?: boolean
  /** Schema of the family's entries in a row of `CHAINS_FILE`; all are optional. */
  readonly entries: Entries
  /** Settings that need no file, by chain id. */
  readonly builtIn: ReadonlyMap<number, Setting>
  /** Setting that a row describes, which replaces the built-in one; undefined if the row describes none. */
  readonly getSetting: (
    row: v.InferOutput<v.ObjectSchema<Entries, undefined>>,
    builtIn: Setting | undefined,
  ) => Setting | undefined
  /**
   * Key field of entries that are lists, by entry: `"add"` of a row joins its list to the built-in one by it. The
   * setting of such a family is the list itself.
   */
  readonly listKeys?: Readonly<Partial<Record<keyof Entries & string, string>>>
  /** Takes over what a row of `CHAINS_FILE` says elsewhere, before it is checked. */
  readonly adoptRows?: (row: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  /** Contracts of a setting, to tell what a row of `CHAINS_FILE` leaves out of the built-in ones. */
  readonly listContracts?: (setting: Setting) => readonly NamedContract[]
  /** True if wallets owe in its contracts. @default false */
  readonly hasDebts?: boolean
  /** Mistakes between the parts of a setting: "manager 0x… of chain 1 is described twice". */
  readonly findMistakes?: (setting: Setting, chainId: number) => readonly string[]
  readonly routes: (setup: FamilySetup<Setting>) => readonly Route[]
  /**
   * Reader of wallets' holdings, for portfolios, with what is to be seen to and what they earn (`listOutlooks`), for
   * overviews; absent if the family does not support it.
   */
  readonly holdings?: (setup: FamilySetup<Setting>) => HoldingsReader
  /** The same on Solana; undefined without an endpoint. */
  readonly accountHoldings?: (setup: FamilySetup<Setting>) => AccountHoldingsReader | undefined
  /** Subjects that triggers can watch; absent if there are none. */
  readonly watch?: (setup: FamilySetup<Setting>) => Watchable & WatchReading
  /** Histories that can be indexed ahead; absent if there are none. */
  readonly histories?: (setup: FamilySetup<Setting>) => readonly IndexableHistory[]
  /** Contracts the family reads, for `doctor`. */
  readonly contracts?: (
    setup: ContractsSetup & { readonly settings: ReadonlyMap<number, Setting> },
  ) => readonly RequiredContract[]
  /** Background work of the family, bound to a feature switch. */
  readonly work?: {
    readonly feature: Feature
    readonly rounds: (setup: FamilySetup<Setting>) => BackgroundWork['round']
  }
}

/** A contract of a setting, and its name within the family: `market lido`. */
interface NamedContract {
  readonly address: Address
  readonly name: string
}

/** Factories of the readers of a family's subjects. Both connect. */
interface WatchReading {
  readonly watcher?: () => Watcher
  /** The same on Solana; undefined without an endpoint. */
  readonly accountWatcher?: () => AccountWatcher | undefined
}

export interface ContractsSetup {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly clock: Clock
}

/** A contract that the family reads, for `doctor` to check. */
export interface RequiredContract {
  /** Reads it for a wallet. Throws `UnavailableError`, caused by `ContractUnresponsiveError` if it does not answer. */
  read(wallet: Address, work: Work): Promise<unknown>
}

/** A global history that can be indexed ahead. */
export interface IndexableHistory {
  readonly chainId: number
  /** `aave-v3 main`. */
  readonly title: string
  /** Reads it to the end, without a time limit. Throws as `HistoryReader.complete`. */
  complete(reader: HistoryReader, work: Work): Promise<void>
}

/** Work in rounds that no request waits for. */
export interface BackgroundWork {
  /** `aave-v3 snapshots`. */
  readonly name: string
  /** Runs one round and returns the pause before the next one, milliseconds. Throws to be retried. */
  round(signal: AbortSignal): Promise<number>
}

/** A protocol: a folder here and a line in `mod.ts`. Setting types stay private to the family. */
export type Family = ReturnType<typeof defineFamily>

/** A family with its settings. */
export type ConfiguredFamily = ReturnType<Family['configure']>

/** A family's `watch`, with its settings. */
export interface WatchableFamily extends Watchable, WatchReading {
  readonly family: string
  /** Chains that are served and have the family. */
  readonly chainIds: readonly number[]
}

/** The part of a family's setup that its configuration does not hold. */
interface ConfiguredSetup extends Omit<FamilySetup<never>, 'settings'> {
  readonly servesSolana: boolean
}

/** Makes a family and hides the type of its settings. */
export function defineFamily<Entries extends v.ObjectEntries, Setting>(definition: FamilyDefinition<Entries, Setting>) {
  const { entries, builtIn, getSetting, findMistakes = () => [], listKeys = {}, work } = definition
  const { name, aliases, network, revision = 1, hasOwnPrices = false } = definition
  const facts: FamilyFacts = { name, aliases, network, revision }
  const rowSchema = v.object(entries)
  const addedEntries = Object.fromEntries(Object.entries(entries).filter(([entry]) => entry in listKeys))
  const addedSchema = v.object({ add: v.optional(v.object(addedEntries), {}) })

  /** The row with its lists joined to the built-in ones where `"add"` says so. */
  function joinLists(chainId: number, row: unknown): v.InferOutput<typeof rowSchema> {
    const own: Record<string, unknown> = v.parse(rowSchema, row)
    const { add } = v.parse(addedSchema, row)
    for (const [entry, key] of Object.entries<string | undefined>(listKeys)) {
      const added = add[entry]
      if (key === undefined || added === undefined) continue
      own[entry] = joinByKey((own[entry] ?? builtIn.get(chainId) ?? []) as ListRows, added as ListRows, key)
    }
    return own as v.InferOutput<typeof rowSchema>
  }

  /** What wallets may have in built-in contracts that a setting lacks: "debts in aave-v3 market lido". */
  function listOmitted(chainId: number, setting: Setting): readonly string[] {
    const builtInSetting = builtIn.get(chainId)
    const { listContracts, hasDebts = false } = definition
    if (listContracts === undefined || builtInSetting === undefined) return []
    const kept = new Set(listContracts(setting).map(({ address }) => address))
    return listContracts(builtInSetting)
      .filter(({ address }) => !kept.has(address))
      .map((contract) => `${hasDebts ? DEBTS_IN : 'positions in'} ${name} ${contract.name}`)
  }

  return {
    ...facts,
    entries: entries as v.ObjectEntries,
    adoptRows: definition.adoptRows,
    /** The entries that `"add"` of a row takes too. */
    addedEntries: addedEntries as v.ObjectEntries,
    /** The family with its rows of a `CHAINS_FILE`, by chain id; the rows were checked with `entries`. */
    configure(rows: ReadonlyMap<number, unknown>) {
      const settings = new Map(builtIn)
      const mistakes: string[] = []
      const omitted = new Map<number, readonly string[]>()
      for (const [chainId, row] of rows) {
        const setting = getSetting(joinLists(chainId, row), builtIn.get(chainId))
        if (setting === undefined) continue
        settings.set(chainId, setting)
        omitted.set(chainId, listOmitted(chainId, setting))
        mistakes.push(...findMistakes(setting, chainId))
      }
      const toSetup = ({ chainIds, servesSolana, connect }: ConfiguredSetup): FamilySetup<Setting> => {
        const served = new Set(network === 'evm' ? chainIds : servesSolana ? [SOLANA_CHAIN_ID] : [])
        return { chainIds, settings: new Map([...settings].filter(([chainId]) => served.has(chainId))), connect }
      }
      return {
        ...facts,
        hasOwnPrices,
        /** Settings on each chain, served or not, by chain id. */
        settings: settings as ReadonlyMap<number, unknown>,
        /** Mistakes in the rows. */
        mistakes: mistakes as readonly string[],
        /** What rows leave out of the built-in settings, by chain id: "debts in aave-v3 market lido". */
        omitted: omitted as ReadonlyMap<number, readonly string[]>,
        /** Entries of a row of `CHAINS_FILE` that configure the chain as it is. */
        toRow: (chainId: number): Readonly<Record<string, unknown>> =>
          Object.fromEntries(Object.keys(entries).map((entry) => [entry, settings.get(chainId)])),
        routes: (setup: ConfiguredSetup) => definition.routes(toSetup(setup)),
        /** Connects. Undefined if the family does not read holdings. */
        holdings: (setup: ConfiguredSetup) => definition.holdings?.(toSetup(setup)),
        /** The same on Solana. */
        accountHoldings: (setup: ConfiguredSetup) => definition.accountHoldings?.(toSetup(setup)),
        /** Subjects that triggers can watch on these chains; undefined if there are none. */
        watch(setup: ConfiguredSetup): WatchableFamily | undefined {
          if (definition.watch === undefined) return undefined
          const own = toSetup(setup)
          return { ...definition.watch(own), family: name, chainIds: [...own.settings.keys()] }
        },
        histories: (setup: ConfiguredSetup) => definition.histories?.(toSetup(setup)) ?? [],
        /** Contracts that the family reads on these chains. */
        contracts: (setup: ContractsSetup) => definition.contracts?.({ ...setup, settings }) ?? [],
        /** Background work of the family; undefined if its feature is off. */
        work: (setup: ConfiguredSetup, featuresOff: readonly Feature[]): BackgroundWork | undefined =>
          work === undefined || featuresOff.includes(work.feature)
            ? undefined
            : { name: `${name} ${work.feature}`, round: work.rounds(toSetup(setup)) },
      }
    },
  }
}

const DEBTS_IN = 'debts in'

/** True for a text of what is not read that is about debts. */
export function isDebtOmitted(text: string): boolean {
  return text.startsWith(DEBTS_IN)
}

/** Sorts what is not read: a missing debt makes a sum too large. */
export function sortDebtsFirst(omitted: readonly string[]): readonly string[] {
  return [...omitted.filter(isDebtOmitted), ...omitted.filter((text) => !isDebtOmitted(text))]
}

type ListRows = readonly Readonly<Record<string, unknown>>[]

/** The rows of both lists; an added one stands in place of that with the same key. */
function joinByKey(rows: ListRows, added: ListRows, key: string): ListRows {
  const addedKeys = new Set(added.map((row) => row[key]))
  return [...rows.filter((row) => !addedKeys.has(row[key])), ...added]
}

/** Throws; for programs that only describe routes. */
export function refuseToConnect(): never {
  throw new Error('Cannot read: this program only describes the routes')
}

/** An EVM address in a `CHAINS_FILE`; returned checksummed. */
export const address = v.pipe(
  v.string(),
  v.check((text) => isAddress(text), 'expected an EVM address: 0x and 40 hex digits, with a right checksum if any'),
  v.transform((text): Address => getAddress(text)),
)

/** The height of a block. */
export const height = v.pipe(v.number(), v.safeInteger(), v.minValue(0))

/** First block with events; 0 if a `CHAINS_FILE` does not name it. */
export const startBlock = v.optional(height, 0)

/** The address of a Solana program. */
export const program = v.pipe(v.string(), v.check(isBase58Address, 'expected the base58 address of a program'))

const base58 = v.pipe(v.string(), v.check(isBase58Address, 'expected a base58 address'))

/** Entries of a `CHAINS_FILE` for Kamino. All families on Solana share them, because they use Kamino's prices. */
export const kaminoEntries = {
  klendProgram: v.optional(program),
  scopeProgram: v.optional(program),
  /** Additional markets and reserves. Each is trusted only after its account was read. */
  kaminoMarkets: v.optional(
    v.array(
      v.strictObject({
        market: base58,
        lookupTable: v.optional(base58),
        reserves: v.optional(v.pipe(v.array(base58), v.maxLength(90, 'expected at most 90 reserves')), []),
      }),
    ),
  ),
}

/** Values that occur more than once, each listed once. */
export function findDuplicates<T>(values: readonly T[]): T[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}
