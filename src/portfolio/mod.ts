import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { BackgroundWork, ConfiguredFamily, FamilyServices, WatchableFamily } from '../family/contract.ts'
import type { Watcher } from '../family/watch.ts'
import { createRateReader, type RateReader } from '../finance/currency/rate.ts'
import { createMidnightRateReader } from '../finance/currency/rates_at_midnights.ts'
import { createPriceReader } from '../finance/price/past/price_reader.ts'
import type { PriceMarket } from '../finance/price/table/kamino.ts'
import { createPortfolioSnapshots } from '../finance/series/portfolio.ts'
import { BUILT_IN_DAY } from '../finance/token/list/list.ts'
import type { Route } from '../http/route/route.ts'
import { createWork } from '../lib/async/work.ts'
import { createExitReader, type ExitReader } from './exit/read.ts'
import { createSaleReader, type SaleReader } from './exit/sell.ts'
import { createOverviewReader, type OverviewReader } from './overview/read.ts'
import { createBorrowedPriceReader } from './read/borrowed_price.ts'
import { createAccountAssetReader } from './read/read_accounts.ts'
import { createAssetReader } from './read/read_chain.ts'
import { createWalletReader } from './read/read_wallet.ts'
import { assetsRoute } from './routes/assets.ts'
import { balanceRoute } from './routes/balance.ts'
import { exitRoute } from './routes/exit.ts'
import type { NativeDoublesByChain } from './routes/input.ts'
import { overviewRoute } from './routes/overview.ts'
import type { Portfolio } from './routes/rows.ts'
import { snapshotsRoute } from './routes/snapshots.ts'
import { createWatcher, WATCHABLE } from './routes/watch.ts'
import { createSnapshotReader, type SnapshotReader } from './snapshots.ts'

/** Revision of what portfolios add to their families: it increases if the same readings give another answer. */
const OWN_REVISION = 1

/** Returns the revision of portfolios over families: it increases with each of theirs, and with each built-in list. */
export function getPortfolioRevision(families: readonly Pick<ConfiguredFamily, 'revision'>[]): number {
  return families.reduce((sum, { revision }) => sum + revision, OWN_REVISION + BUILT_IN_DAY)
}

/** Dependencies of portfolios; describing the routes needs no connection. */
export type PortfolioSetup = Parameters<ConfiguredFamily['holdings']>[0] & {
  readonly families: readonly ConfiguredFamily[]
  readonly nativeDoubles: NativeDoublesByChain
  /** Source of prices on Solana. */
  readonly priceMarket: PriceMarket
}

/** Defines the routes about portfolios. */
export function portfolioRoutes(setup: PortfolioSetup): readonly Route[] {
  const { chainIds, nativeDoubles } = setup
  const rates = () => getReaders(setup).rates
  const options = { chainIds, nativeDoubles, portfolio: () => getReaders(setup).portfolio, rates }
  const snapshots = () => getReaders(setup).snapshots
  return [
    overviewRoute({ overviews: () => getReaders(setup).overviews, rates }),
    balanceRoute(options),
    assetsRoute(options),
    exitRoute({ ...options, exits: () => getReaders(setup).exits, sales: () => getReaders(setup).sales }),
    snapshotsRoute({ chainIds, nativeDoubles, snapshots }),
  ]
}

/** Background work: takes the last midnight for wallets with snapshots. */
export function portfolioWork(setup: PortfolioSetup): BackgroundWork {
  return { name: 'portfolio snapshots', round: (signal) => getReaders(setup).snapshots.takeDaily(createWork(signal)) }
}

/** What triggers can watch of wallets on EVM chains. */
export function watchPortfolio(setup: PortfolioSetup): WatchableFamily {
  return { ...WATCHABLE, family: 'portfolio', chainIds: setup.chainIds, watcher: () => getReaders(setup).watcher }
}

interface Readers {
  readonly portfolio: Portfolio
  readonly overviews: OverviewReader
  readonly exits: ExitReader
  readonly sales: SaleReader
  readonly snapshots: SnapshotReader
  readonly rates: RateReader
  readonly watcher: Watcher
}

/** Readers by services: routes and background work share them and their caches. */
const readersByServices = new WeakMap<FamilyServices, Readers>()

function getReaders(setup: PortfolioSetup): Readers {
  const services = setup.connect()
  const cached = readersByServices.get(services)
  if (cached !== undefined) return cached
  const created = createReaders(setup, services)
  readersByServices.set(services, created)
  return created
}

function createReaders(setup: PortfolioSetup, services: FamilyServices): Readers {
  const families = collectReaders(setup, (family) => family.holdings(setup))
  const { clients, db, clock } = services
  const prices = createPriceReader({ db, clock })
  const borrowedPrices = createBorrowedPriceReader({ clients, prices, clock })
  const reader = createAssetReader({ families: families.map((family) => family.reader), borrowedPrices, clock })
  const accountReader = createAccountReader(setup, services)
  const listFamilies = (chainId: number) =>
    families.filter((family) => family.reader.chainIds.has(chainId)).map(({ name }) => name)
  const listDeployments = (chainId: number) =>
    families.flatMap(({ name, reader: { chainIds }, toRow }) =>
      chainIds.has(chainId) ? [`${name} ${JSON.stringify(toRow(chainId))}`] : [],
    )
  const listTokenLists = (chainId: number) => clients.get(chainId)?.chain.tokens.names ?? []
  const snapshots = createPortfolioSnapshots(services)
  const rates = createMidnightRateReader({ clients, prices, clock })
  const portfolio = {
    listFamilies: (chainId: number) =>
      chainId === SOLANA_CHAIN_ID ? (accountReader?.families ?? []) : listFamilies(chainId),
    listTokenLists,
    listOmitted: (chainId: number) => setup.families.flatMap(({ omitted }) => omitted.get(chainId) ?? []),
  }
  const isRecorded = services.testimony !== undefined
  const wallets = createWalletReader({ clients, reader, solana: accountReader?.reader, clock })
  const snapshotReader = createSnapshotReader({ clients, reader, borrowedPrices, listDeployments, snapshots, rates })
  return {
    portfolio: { ...portfolio, reader: wallets },
    overviews: createOverviewReader({
      chainIds: setup.chainIds,
      reader: wallets,
      snapshots: snapshotReader,
      clock,
    }),
    exits: createExitReader({ clients, clock, isRecorded, hasOwnMoney: true }),
    sales: createSaleReader({ clients, clock, isRecorded }),
    snapshots: snapshotReader,
    rates: createRateReader({ clients, clock }),
    watcher: createWatcher({ portfolio, reader, chainIds: new Set(setup.chainIds), clock }),
  }
}

/** Creates the reader of Solana wallets and lists its families; undefined if Solana is not served. */
function createAccountReader(setup: PortfolioSetup, { solana, clock }: FamilyServices) {
  if (solana === undefined) return undefined
  const families = collectReaders(setup, (family) => family.accountHoldings(setup))
  const reader = createAccountAssetReader({ solana, families, priceMarket: setup.priceMarket, clock })
  return { reader, families: families.map(({ name }) => name) }
}

/** Collects the readers of the families that have holdings. */
function collectReaders<Reader>(
  { families }: PortfolioSetup,
  getReader: (family: ConfiguredFamily) => Reader | undefined,
) {
  return families.flatMap((family) => {
    const reader = getReader(family)
    return reader === undefined ? [] : { name: family.name, toRow: family.toRow, reader }
  })
}
