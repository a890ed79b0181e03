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

/** Each full position costs credits: no more than these are asked for at once. */
export const PAGE_SIZE = 10

/**
 * Positions of one family of liquidity on one chain, open or closed.
 * @typedef {{ family: 'liquidity' | 'closed', protocol: import('../../lib/catalog.js').Protocol, chainId: number }} Place
 */

/**
 * Requests of a view: one for each family and chain, and one for each page and obligation that was asked for.
 * @param {import('../../lib/link.js').WalletView} view
 * @param {import('../../lib/catalog.js').Catalog} catalog
 * @param {(place: Place) => number} pages how many of them
 * @returns {Part[]}
 */
export function createPlan(view, catalog, pages) {
  const kind = walletKind(view.wallet)
  const solana = catalog.liquidity.filter(({ chains }) => chains.includes(SOLANA_CHAIN_ID))
  const evm = catalog.liquidity.filter((served) => !solana.includes(served))
  // Solana keeps no past: nothing there is asked about one.
  if (kind === 'solana')
    return view.asOf === ''
      ? [...liquidityParts({ wallet: view.wallet }, solana, pages), ...kaminoParts(view, catalog)]
      : []
  if (kind !== 'evm') return []
  /** @type {Record<string, string>} */
  const past = view.asOf === '' ? {} : { at_time: view.asOf }
  const asked = { wallet: view.wallet, ...past }
  /** @param {'aave' | 'morpho'} family @param {readonly number[]} chains @param {string} route @param {Record<string, string>} [further] */
  const lending = (family, chains, route, further = {}) =>
    chains.map((chainId) => {
      const query = { ...asked, chain_id: chainId, target_health_factor: view.target, ...further }
      return part(family, chainId, `${route}?${formatQuery(query)}`)
    })
  return [
    ...liquidityParts(asked, evm, pages),
    ...lending('aave', catalog.aaveChains, 'v1/lending/aave-v3', { full: 'true' }),
    ...lending('morpho', catalog.morphoChains, 'v1/lending/morpho-blue'),
  ]
}

/**
 * @param {Record<string, string>} asked wallet and moment
 * @param {readonly import('../../lib/catalog.js').Liquidity[]} families
 * @param {(place: Place) => number} pages
 * @returns {Part[]}
 */
function liquidityParts(asked, families, pages) {
  /** @param {'liquidity' | 'closed'} family @param {Record<string, string>} which */
  const positions = (family, which) =>
    families.flatMap(({ protocol, chains }) =>
      chains.flatMap((chainId) =>
        Array.from({ length: pages({ family, protocol, chainId }) }, (_, index) => {
          /** @type {Record<string, number>} */
          const chain = chainId === SOLANA_CHAIN_ID ? {} : { chain_id: chainId }
          const page = { limit: PAGE_SIZE, ...(index > 0 && { page: index + 1 }) }
          const query = formatQuery({ ...asked, ...chain, ...which, ...page })
          return { ...part(family, chainId, `v1/positions/${protocol}?${query}`), protocol }
        }),
      ),
    )
  return [...positions('liquidity', { full: 'true' }), ...positions('closed', { status: 'inactive' })]
}

/** Chain of a part, and its family if the chain has several of a kind. @param {import('../../lib/catalog.js').Catalog} catalog @param {Part} part */
export function partName(catalog, { chainId, protocol }) {
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

/** The list, and each obligation that was added. @param {import('../../lib/link.js').WalletView} view @param {import('../../lib/catalog.js').Catalog} catalog @returns {Part[]} */
function kaminoParts({ wallet, kamino, target }, catalog) {
  if (!catalog.kamino) return []
  const list = part(
    'kamino',
    SOLANA_CHAIN_ID,
    `v1/lending/kamino?${formatQuery({ wallet, target_health_factor: target })}`,
  )
  const added = kamino.flatMap((pair) => {
    const [obligation = '', market = ''] = pair.split(':')
    const query = formatQuery({ wallet, market_address: market, target_health_factor: target })
    const base = `v1/lending/kamino/position/${encodeURIComponent(obligation)}`
    return ['risk', 'yield'].map((name) => ({
      ...part('obligation', SOLANA_CHAIN_ID, `${base}/${name}?${query}`),
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
function part(family, chainId, path) {
  return { family, chainId, path }
}

/** @param {Record<string, string | number>} values */
export function formatQuery(values) {
  return new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
}
