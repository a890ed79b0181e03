import { walletKind } from '../../lib/address.js'
import { chainName, SOLANA_CHAIN_ID } from '../../lib/catalog.js'

/**
 * One request of a view.
 * @typedef {object} Part
 * @property {'liquidity' | 'closed' | 'aave' | 'morpho' | 'kamino' | 'obligation'} family
 * @property {number} chainId
 * @property {string} path
 * @property {import('../../lib/catalog.js').Protocol} [protocol] of liquidity
 * @property {string} [id] obligation
 */

/** Positions per request: each full position costs credits. */
export const PAGE_SIZE = 10

/**
 * Key of a list: positions of one liquidity family on one chain, open or closed.
 * @typedef {{ family: 'liquidity' | 'closed', protocol: import('../../lib/catalog.js').Protocol, chainId: number }} ListKey
 */

/**
 * Creates the requests of a view: one per family and chain, plus one per additional page and added obligation.
 * @param {import('../../lib/link.js').WalletView} view
 * @param {import('../../lib/catalog.js').Catalog} catalog
 * @param {(list: ListKey) => number} pages number of pages to request
 * @returns {Part[]}
 */
export function createPlan(view, catalog, pages) {
  const kind = walletKind(view.wallet)
  const solana = catalog.liquidity.filter(({ chains }) => chains.includes(SOLANA_CHAIN_ID))
  const evm = catalog.liquidity.filter((served) => !solana.includes(served))
  // Endpoints of Solana keep no past state: a view of the past has no requests to it.
  if (kind === 'solana')
    return view.asOf === ''
      ? [...createLiquidityParts({ wallet: view.wallet }, solana, pages), ...createKaminoParts(view, catalog)]
      : []
  if (kind !== 'evm') return []
  /** @type {Record<string, string>} */
  const past = view.asOf === '' ? {} : { at_time: view.asOf }
  const baseQuery = { wallet: view.wallet, ...past }
  /** @param {'aave' | 'morpho'} family @param {readonly number[]} chains @param {string} route @param {Record<string, string>} [further] */
  const lending = (family, chains, route, further = {}) =>
    chains.map((chainId) => {
      const query = { ...baseQuery, chain_id: chainId, target_health_factor: view.target, ...further }
      return createPart(family, chainId, `${route}?${formatQuery(query)}`)
    })
  return [
    ...createLiquidityParts(baseQuery, evm, pages),
    ...lending('aave', catalog.aaveChains, 'v1/lending/aave-v3', { full: 'true' }),
    ...lending('morpho', catalog.morphoChains, 'v1/lending/morpho-blue'),
  ]
}

/**
 * @param {Record<string, string>} baseQuery wallet and moment
 * @param {readonly import('../../lib/catalog.js').Liquidity[]} families
 * @param {(list: ListKey) => number} pages
 * @returns {Part[]}
 */
function createLiquidityParts(baseQuery, families, pages) {
  /** @param {'liquidity' | 'closed'} family @param {Record<string, string>} which */
  const positions = (family, which) =>
    families.flatMap(({ protocol, chains }) =>
      chains.flatMap((chainId) =>
        Array.from({ length: pages({ family, protocol, chainId }) }, (_, index) => {
          /** @type {Record<string, number>} */
          const chain = chainId === SOLANA_CHAIN_ID ? {} : { chain_id: chainId }
          const page = { limit: PAGE_SIZE, ...(index > 0 && { page: index + 1 }) }
          const query = formatQuery({ ...baseQuery, ...chain, ...which, ...page })
          return { ...createPart(family, chainId, `v1/positions/${protocol}?${query}`), protocol }
        }),
      ),
    )
  return [...positions('liquidity', { full: 'true' }), ...positions('closed', { status: 'inactive' })]
}

/** Formats the chain of a part, with its family if the chain has several of the kind. @param {import('../../lib/catalog.js').Catalog} catalog @param {Part} part */
export function formatPartName(catalog, { chainId, protocol }) {
  return `${chainName(catalog, chainId)}${protocol === 'uniswap-v4' ? ' (Uniswap V4)' : ''}`
}

/** @type {Readonly<Record<Part['family'], string>>} */
export const FAMILY_NAMES = {
  liquidity: 'Liquidity',
  closed: 'Closed',
  aave: 'Aave V3',
  morpho: 'Morpho Blue',
  kamino: 'Kamino',
  obligation: 'Kamino, added',
}

/** Creates the parts of Kamino: the list, and risk and yield of each added obligation. @param {import('../../lib/link.js').WalletView} view @param {import('../../lib/catalog.js').Catalog} catalog @returns {Part[]} */
function createKaminoParts({ wallet, kamino, target }, catalog) {
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

/**
 * @param {Part['family']} family
 * @param {number} chainId
 * @param {string} path
 */
function createPart(family, chainId, path) {
  return { family, chainId, path }
}

/** @param {Record<string, string | number>} values */
export function formatQuery(values) {
  return new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
}
