import * as v from 'valibot'
import type { Address } from 'viem'
import { SOLANA_CHAIN_ID, type SolanaClient } from '../chain/solana/client.ts'
import type { Database } from '../db/database.ts'
import type { FinanceClient } from '../finance/chain.ts'
import type { History, HistoryReader } from '../history/stream.ts'
import type { Feature, Route } from '../http/route/route.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { AccountHoldingsReader, HoldingsReader } from './holding.ts'
import type { AccountWatcher, Watchable, Watcher } from './watch.ts'

/*
 * One shape of all families, which `test/layers_test.ts` holds. None of its folders import each other in a circle.
 *
 *     table/     where its contracts are, by chain, and their sources
 *     event/     pure: rows from logs, if the family has a past
 *     math/      pure: figures from state
 *     present/   pure: the figures as answers have them, and the schemas of answers
 *     read/      asks a chain: state at one pinned block, and what the state means; streams of logs; what triggers watch
 *     holdings   asks a chain too: what a wallet has, as rows of a portfolio
 *     routes/    the only part that knows http: input, price in credits, output
 *     mod        what `family/mod.ts` lists: name, settings, routes, histories, work
 *
 * Rows go into a table of `finance` or into one of the family's own, whose migration lets it inherit `history_row`.
 * A folder of `test/family` is a family with a past that nothing else knows of.
 */

export interface FamilyServices {
  /** Clients of the EVM chains that are served, by chain id. */
  readonly clients: ReadonlyMap<number, FinanceClient>
  /** Absent if Solana is not served. */
  readonly solana: SolanaClient | undefined
  readonly db: Database
  /** Names this process in leases. */
  readonly holder: string
  readonly history: History
  readonly clock: Clock
  readonly log: Log
}

/** What routes are made from. Nothing needs to be connected to check input or to describe the routes. */
interface FamilySetup<Setting> {
  /** EVM chains that are served, with this family or without. */
  readonly chainIds: readonly number[]
  /** What is known about the family on each served chain that has it, by chain id. */
  readonly settings: ReadonlyMap<number, Setting>
  /** Connects, when something is first read. */
  readonly connect: () => FamilyServices
}

/** What is known of a protocol without its settings. */
interface FamilyFacts {
  /** Path segment: `uniswap-v3`. */
  readonly name: string
  /** Other names of the path segment. */
  readonly aliases: readonly string[]
  /** Which rows of `CHAINS_FILE` describe the family: those of EVM chains or that of Solana. */
  readonly network: 'evm' | 'solana'
  /**
   * Of its formulas and its presentation: it rises if the same readings come to another answer. `test/receipt/golden`
   * notices.
   */
  readonly revision: number
}

/** A protocol as its folder describes it; its revision is 1 unless it says another one. */
interface FamilyDefinition<Entries extends v.ObjectEntries, Setting>
  extends Omit<FamilyFacts, 'revision'>,
    Partial<Pick<FamilyFacts, 'revision'>> {
  /** True if its contracts name the sources of its prices: those of the chain decide no figure. @default false */
  readonly hasOwnPrices?: boolean
  /** What such a row may say about the family, all of it optional; one entry. */
  readonly entries: Entries
  /** Settings that need no file, by chain id. */
  readonly builtIn: ReadonlyMap<number, Setting>
  /** What a row says, which replaces what is built in; undefined if it says nothing. */
  readonly settingOf: (
    row: v.InferOutput<v.ObjectSchema<Entries, undefined>>,
    builtIn: Setting | undefined,
  ) => Setting | undefined
  /** Mistakes that no single part of a setting shows: "manager 0x… of chain 1 is described twice". */
  readonly mistakesOf?: (setting: Setting, chainId: number) => readonly string[]
  readonly routes: (setup: FamilySetup<Setting>) => readonly Route[]
  /** What wallets hold in it, for their portfolios; absent if it is not read yet. */
  readonly holdings?: (setup: FamilySetup<Setting>) => HoldingsReader
  /** The same on Solana; undefined without an endpoint. */
  readonly accountHoldings?: (setup: FamilySetup<Setting>) => AccountHoldingsReader | undefined
  /** What triggers can watch in it; absent if nothing can be watched yet. */
  readonly watch?: (setup: FamilySetup<Setting>) => Watchable & WatchReading
  /** Histories that can be read ahead; absent if there are none. */
  readonly histories?: (setup: FamilySetup<Setting>) => readonly IndexableHistory[]
  /** Contracts that its answers need; absent if nobody looks at them. */
  readonly contracts?: (
    setup: ContractsSetup & { readonly settings: ReadonlyMap<number, Setting> },
  ) => readonly RequiredContract[]
  /** What the family does while nobody asks, for a feature; absent if that is nothing. */
  readonly work?: {
    readonly feature: Feature
    readonly rounds: (setup: FamilySetup<Setting>) => BackgroundWork['round']
  }
}

/** How a family's subjects are read. Both connect. */
interface WatchReading {
  readonly watcher?: () => Watcher
  /** The same on Solana; undefined without an endpoint. */
  readonly accountWatcher?: () => AccountWatcher | undefined
}

interface ContractsSetup {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly clock: Clock
}

/** A contract that answers need, for the operator to look at. */
interface RequiredContract {
  /** Reads it for a wallet. Throws `UnavailableError`, whose cause is `SilentError` if the contract does not answer. */
  read(wallet: Address, signal: AbortSignal): Promise<unknown>
}

/** A history of everybody that can be read ahead. */
export interface IndexableHistory {
  readonly chainId: number
  /** `aave-v3 main`. */
  readonly title: string
  /** Reads it, however long it takes. Throws as `HistoryReader.complete`. */
  complete(reader: HistoryReader, signal: AbortSignal): Promise<void>
}

/** Work that no caller waits for, done in rounds. */
export interface BackgroundWork {
  /** `aave-v3 snapshots`. */
  readonly name: string
  /** One round; gives the pause until the next one, milliseconds. Throws to be tried again. */
  round(signal: AbortSignal): Promise<number>
}

/** A protocol: a folder here and a line in `mod.ts`. Nobody outside needs the types of its settings. */
export type Family = ReturnType<typeof defineFamily>

/** A family with its settings. */
export type ConfiguredFamily = ReturnType<Family['configure']>

/** A family's `watch`, with its settings. */
export interface WatchableFamily extends Watchable, WatchReading {
  readonly family: string
  /** Chains that are served and have the family. */
  readonly chainIds: readonly number[]
}

/** What a configured family does not know by itself. */
interface ConfiguredSetup extends Omit<FamilySetup<never>, 'settings'> {
  readonly servesSolana: boolean
}

/** Makes a family and hides the type of its settings. */
export function defineFamily<Entries extends v.ObjectEntries, Setting>(definition: FamilyDefinition<Entries, Setting>) {
  const { entries, builtIn, settingOf, mistakesOf = () => [], work } = definition
  const { name, aliases, network, revision = 1, hasOwnPrices = false } = definition
  const facts: FamilyFacts = { name, aliases, network, revision }
  const rowSchema = v.object(entries)

  return {
    ...facts,
    entries: entries as v.ObjectEntries,
    /** The family with what rows of a `CHAINS_FILE` say about it, by chain id; the rows were checked with `entries`. */
    configure(rows: ReadonlyMap<number, unknown>) {
      const settings = new Map(builtIn)
      const mistakes: string[] = []
      for (const [chainId, row] of rows) {
        const setting = settingOf(v.parse(rowSchema, row), builtIn.get(chainId))
        if (setting === undefined) continue
        settings.set(chainId, setting)
        mistakes.push(...mistakesOf(setting, chainId))
      }
      const here = ({ chainIds, servesSolana, connect }: ConfiguredSetup): FamilySetup<Setting> => {
        const served = new Set(network === 'evm' ? chainIds : servesSolana ? [SOLANA_CHAIN_ID] : [])
        return { chainIds, settings: new Map([...settings].filter(([chainId]) => served.has(chainId))), connect }
      }
      return {
        ...facts,
        hasOwnPrices,
        /** What is known about it on each chain, served or not, by chain id. */
        settings: settings as ReadonlyMap<number, unknown>,
        /** What is wrong with the rows. */
        mistakes: mistakes as readonly string[],
        /** What a row of `CHAINS_FILE` would have to say of a chain, to be configured so. */
        rowOf: (chainId: number): Readonly<Record<string, unknown>> =>
          Object.fromEntries(Object.keys(entries).map((entry) => [entry, settings.get(chainId)])),
        routes: (setup: ConfiguredSetup) => definition.routes(here(setup)),
        /** Connects. Undefined if its holdings are not read. */
        holdings: (setup: ConfiguredSetup) => definition.holdings?.(here(setup)),
        /** The same on Solana. */
        accountHoldings: (setup: ConfiguredSetup) => definition.accountHoldings?.(here(setup)),
        /** What triggers can watch in it on these chains; undefined if nothing. */
        watch(setup: ConfiguredSetup): WatchableFamily | undefined {
          if (definition.watch === undefined) return undefined
          const own = here(setup)
          return { ...definition.watch(own), family: name, chainIds: [...own.settings.keys()] }
        },
        histories: (setup: ConfiguredSetup) => definition.histories?.(here(setup)) ?? [],
        /** Contracts that its answers need on these chains. */
        contracts: (setup: ContractsSetup) => definition.contracts?.({ ...setup, settings }) ?? [],
        /** What it does while nobody asks, unless that is for a feature that is off. */
        work: (setup: ConfiguredSetup, featuresOff: readonly Feature[]): BackgroundWork | undefined =>
          work === undefined || featuresOff.includes(work.feature)
            ? undefined
            : { name: `${name} ${work.feature}`, round: work.rounds(here(setup)) },
      }
    },
  }
}
