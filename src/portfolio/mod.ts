import type { FamilyServices } from '../family/family.ts'
import type { HoldingsReader } from '../family/holding.ts'
import type { Route } from '../http/route/route.ts'
import { once } from '../lib/once_each.ts'
import { createAssetReader } from './read/read_chain.ts'
import { createWalletReader } from './read/read_wallet.ts'
import { assetsRoute } from './routes/assets.ts'
import { balanceRoute } from './routes/balance.ts'
import type { Portfolio } from './routes/rows.ts'

/** A family whose holdings are summed. */
export interface SummedFamily {
  readonly name: string
  readonly reader: HoldingsReader
}

/** What portfolios are made from; nothing needs to be connected to describe the routes. */
export interface PortfolioSetup {
  /** EVM chains that are served. */
  readonly chainIds: readonly number[]
  readonly connect: () => Pick<FamilyServices, 'clients' | 'clock'>
  /** Those that know what wallets hold. Called once, when something is first read. */
  readonly families: () => readonly SummedFamily[]
}

/** The routes about all that a wallet has. */
export function portfolioRoutes({ chainIds, connect, families }: PortfolioSetup): readonly Route[] {
  const options = { chainIds, portfolio: once(() => portfolioOf(connect(), families())) }
  return [balanceRoute(options), assetsRoute(options)]
}

function portfolioOf(
  { clients, clock }: Pick<FamilyServices, 'clients' | 'clock'>,
  families: readonly SummedFamily[],
): Portfolio {
  const reader = createAssetReader({ families: families.map((family) => family.reader), clock })
  return {
    reader: createWalletReader({ clients, reader, clock }),
    familiesOn: (chainId) => families.filter((family) => family.reader.chainIds.has(chainId)).map(({ name }) => name),
    listsOn: (chainId) => clients.get(chainId)?.chain.tokens.names ?? [],
  }
}
