import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { BackgroundWork, ConfiguredFamily, FamilyServices } from '../family/family.ts'
import type { PriceMarket } from '../finance/price/table/kamino.ts'
import { createPortfolioSnapshots } from '../finance/series/portfolio.ts'
import type { Route } from '../http/route/route.ts'
import { createAssetReader } from './read/read_chain.ts'
import { createWalletReader } from './read/read_wallet.ts'
import { assetsRoute } from './routes/assets.ts'
import { balanceRoute } from './routes/balance.ts'
import type { Portfolio } from './routes/rows.ts'
import { snapshotsRoute } from './routes/snapshots.ts'
import { createSnapshotReader, type SnapshotReader } from './snapshot/snapshots.ts'
import { createAccountAssetReader } from './solana/read_accounts.ts'

/** What portfolios are made from; nothing needs to be connected to describe the routes. */
export type PortfolioSetup = Parameters<ConfiguredFamily['holdings']>[0] & {
  readonly families: readonly ConfiguredFamily[]
  /** Where prices of Solana come from. */
  readonly priceMarket: PriceMarket
}

/** The routes about all that a wallet has. */
export function portfolioRoutes(setup: PortfolioSetup): readonly Route[] {
  const { chainIds } = setup
  const options = { chainIds, portfolio: () => readersOf(setup).portfolio }
  const snapshots = () => readersOf(setup).snapshots
  return [balanceRoute(options), assetsRoute(options), snapshotsRoute({ chainIds, snapshots })]
}

/** What is done about portfolios while nobody asks: the last midnight is taken for wallets that were asked for. */
export function portfolioWork(setup: PortfolioSetup): BackgroundWork {
  return { name: 'portfolio snapshots', round: (signal) => readersOf(setup).snapshots.takeDaily(signal) }
}

interface Readers {
  readonly portfolio: Portfolio
  readonly snapshots: SnapshotReader
}

/** By what they read with: routes and work have the same ones, and share what these remember. */
const readers = new WeakMap<FamilyServices, Readers>()

function readersOf(setup: PortfolioSetup): Readers {
  const services = setup.connect()
  const known = readers.get(services)
  if (known !== undefined) return known
  const made = makeReaders(setup, services)
  readers.set(services, made)
  return made
}

function makeReaders(setup: PortfolioSetup, services: FamilyServices): Readers {
  const families = readersIn(setup, (family) => family.holdings(setup))
  const { clients, clock } = services
  const reader = createAssetReader({ families: families.map((family) => family.reader), clock })
  const account = accountReaderOf(setup, services)
  const familiesOn = (chainId: number) =>
    families.filter((family) => family.reader.chainIds.has(chainId)).map(({ name }) => name)
  const listsOn = (chainId: number) => clients.get(chainId)?.chain.tokens.names ?? []
  const snapshots = createPortfolioSnapshots(services)
  return {
    portfolio: {
      reader: createWalletReader({ clients, reader, solana: account?.reader, clock }),
      familiesOn: (chainId) => (chainId === SOLANA_CHAIN_ID ? (account?.families ?? []) : familiesOn(chainId)),
      listsOn,
    },
    snapshots: createSnapshotReader({ clients, reader, familiesOn, snapshots }),
  }
}

/** What reads wallets of Solana, and the families that it asks; undefined if Solana is not served. */
function accountReaderOf(setup: PortfolioSetup, { solana, clock }: FamilyServices) {
  if (solana === undefined) return undefined
  const families = readersIn(setup, (family) => family.accountHoldings(setup))
  const reader = createAccountAssetReader({ solana, families, priceMarket: setup.priceMarket, clock })
  return { reader, families: families.map(({ name }) => name) }
}

/** What reads holdings, of those families that know what wallets hold. */
function readersIn<Reader>({ families }: PortfolioSetup, readerOf: (family: ConfiguredFamily) => Reader | undefined) {
  return families.flatMap((family) => {
    const reader = readerOf(family)
    return reader === undefined ? [] : { name: family.name, reader }
  })
}
