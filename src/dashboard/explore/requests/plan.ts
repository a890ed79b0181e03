import { walletKind } from '../../lib/address.ts'
import type { Catalog, Liquidity } from '../../lib/catalog.ts'
import { chainName, SOLANA_CHAIN_ID } from '../../lib/catalog.ts'
import type { WalletView } from '../../lib/link.ts'
import { nameProtocol } from '../../lib/protocol.ts'

/** One request of a view. */
export interface Part {
  readonly family: 'liquidity' | 'closed' | 'aave' | 'morpho' | 'kamino' | 'lending' | 'obligation' | 'assets'
  readonly chainId: number
  readonly path: string
  /** Of liquidity, and of lending of the common shape: last segment of its path. */
  readonly protocol?: string
  /** Obligation. */
  readonly id?: string
}

/** Positions per request: each full position costs credits. */
export const PAGE_SIZE = 10

/** Key of a list: positions of one liquidity family on one chain, open or closed. */
export interface ListKey {
  readonly family: 'liquidity' | 'closed'
  readonly protocol: string
  readonly chainId: number
}

/**
 * Creates the requests of a view: one per family and chain, plus one per additional page and added obligation. `pages`:
 * number of pages to request.
 */
export function createPlan(view: WalletView, catalog: Catalog, pages: (list: ListKey) => number): Part[] {
  const kind = walletKind(view.wallet)
  const solana = catalog.liquidity.filter(({ chains }) => chains.includes(SOLANA_CHAIN_ID))
  const evm = catalog.liquidity.filter((served) => !solana.includes(served))
  // Endpoints of Solana keep no past state: a view of the past has no requests to it.
  if (kind === 'solana')
    return view.asOf === ''
      ? [...createLiquidityParts({ wallet: view.wallet }, solana, pages), ...createKaminoParts(view, catalog)]
      : []
  if (kind !== 'evm') return []
  const past: Record<string, string> = view.asOf === '' ? {} : { at_time: view.asOf }
  const baseQuery = { wallet: view.wallet, ...past }
  const lending = (
    family: 'aave' | 'morpho' | 'lending',
    chains: readonly number[],
    route: string,
    further: Record<string, string> = {},
  ) =>
    chains.map((chainId) => {
      const query = { ...baseQuery, chain_id: chainId, target_health_factor: view.target, ...further }
      return createPart(family, chainId, `${route}?${formatQuery(query)}`)
    })
  return [
    ...createLiquidityParts(baseQuery, evm, pages),
    ...lending('aave', catalog.aaveChains, 'v1/lending/aave-v3', { full: 'true' }),
    ...lending('morpho', catalog.morphoChains, 'v1/lending/morpho-blue'),
    ...catalog.lending.flatMap(({ protocol, chains }) =>
      lending('lending', chains, `v1/lending/${protocol}`).map((part) => ({ ...part, protocol })),
    ),
  ]
}

/** Rows of the portfolio on a page: the most of the service. */
export const ASSETS_MAX = 25

/** Creates the requests of what the portfolio counts, one a page. They are of all chains, so that none is named. */
export function createAssetsPlan({ wallet, asOf }: WalletView, pages: number): Part[] {
  const past: Record<string, string> = asOf === '' ? {} : { at_time: asOf }
  return Array.from({ length: pages }, (_, index) => {
    const page = { limit: ASSETS_MAX, ...(index > 0 && { page: index + 1 }) }
    const query = formatQuery({ wallet, ...past, allow_partial: 'true', counted: 'true', ...page })
    return createPart('assets', 0, `v1/portfolio/assets?${query}`)
  })
}

/** `baseQuery`: wallet and moment. */
function createLiquidityParts(
  baseQuery: Record<string, string>,
  families: readonly Liquidity[],
  pages: (list: ListKey) => number,
): Part[] {
  const positions = (family: 'liquidity' | 'closed', which: Record<string, string>) =>
    families.flatMap(({ protocol, chains }) =>
      chains.flatMap((chainId) =>
        Array.from({ length: pages({ family, protocol, chainId }) }, (_, index) => {
          const chain: Record<string, number> = chainId === SOLANA_CHAIN_ID ? {} : { chain_id: chainId }
          const page = { limit: PAGE_SIZE, ...(index > 0 && { page: index + 1 }) }
          const query = formatQuery({ ...baseQuery, ...chain, ...which, ...page })
          return { ...createPart(family, chainId, `v1/positions/${protocol}?${query}`), protocol }
        }),
      ),
    )
  return [...positions('liquidity', { full: 'true' }), ...positions('closed', { status: 'inactive' })]
}

/** Family whose positions name their exchange themselves: Uniswap V3 and its forks. */
const UNNAMED = 'uniswap-v3'

/** Formats the chain of a part, with its family if the chain has several of the kind. */
export function formatPartName(catalog: Catalog, { chainId, protocol }: Pick<Part, 'chainId' | 'protocol'>) {
  const chain = chainName(catalog, chainId)
  if (protocol === undefined || protocol === UNNAMED) return chain
  const others = catalog.liquidity.filter(({ chains }) => chains.includes(chainId))
  return others.length === 1 && others[0]?.protocol === protocol ? chain : `${chain} (${nameProtocol(protocol)})`
}

export const FAMILY_NAMES: Readonly<Record<Part['family'], string>> = {
  liquidity: 'Liquidity',
  closed: 'Closed',
  aave: 'Aave V3',
  lending: 'Lending',
  morpho: 'Morpho Blue',
  kamino: 'Kamino',
  obligation: 'Kamino, added',
  assets: 'Tokens',
}

/** Creates the parts of Kamino: the list, and risk and yield of each added obligation. */
function createKaminoParts({ wallet, kamino, target }: WalletView, catalog: Catalog): Part[] {
  if (!catalog.kamino) return []
  const list = createPart(
    'kamino',
    SOLANA_CHAIN_ID,
    `v1/lending/kamino?${formatQuery({ wallet, target_health_factor: target })}`,
  )
  const added = kamino.flatMap((pair) => {
    const [obligation = '', market = ''] = pair.split(':')
    const query = formatQuery({ wallet, market_address: market, target_health_factor: target })
    const base = `v1/lending/kamino/position/${encodeURIComponent(obligation)}`
    return ['risk', 'yield'].map((name) => ({
      ...createPart('obligation', SOLANA_CHAIN_ID, `${base}/${name}?${query}`),
      id: obligation,
    }))
  })
  return [list, ...added]
}

function createPart(family: Part['family'], chainId: number, path: string) {
  return { family, chainId, path }
}

/** Formats fields as a query, without a question mark. */
export function formatQuery(values: Record<string, string | number>) {
  return new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
}
