import { walletKind } from '../lib/address.js'

/**
 * One request of a view.
 * @typedef {object} Part
 * @property {'liquidity' | 'closed' | 'aave' | 'morpho' | 'kamino'} family
 * @property {number} chainId
 * @property {string} path
 * @property {string} [id] market or obligation
 */

export const SOLANA = 101
/** A full position costs 15 credits: no more than these are asked for at once. */
export const PAGE_SIZE = 10

/**
 * Requests of a view: one for each family and chain, and one for each page, market and obligation that was asked for.
 * @param {import('../lib/link.js').View} view
 * @param {import('../lib/catalog.js').Catalog} catalog
 * @param {{ pages: Record<number, number>, closed: Record<number, number> }} more pages by chain
 * @returns {Part[]}
 */
export function planOf(view, catalog, more) {
  const kind = walletKind(view.wallet)
  if (kind === 'solana') return kaminoParts(view)
  if (kind !== 'evm') return []
  /** @type {Record<string, string>} */
  const past = view.asOf === '' ? {} : { at_time: view.asOf }
  const asked = { wallet: view.wallet, ...past }
  return [
    ...catalog.liquidityChains.flatMap((chainId) =>
      pagesOf(more.pages[chainId] ?? 1).map((page) => {
        const query = { ...asked, chain_id: chainId, full: 'true', ...numbered(page) }
        return part('liquidity', chainId, `v1/positions/uniswap-v3?${queryOf(query)}`)
      }),
    ),
    ...catalog.liquidityChains.flatMap((chainId) =>
      pagesOf(more.closed[chainId] ?? 0).map((page) => {
        const query = { ...asked, chain_id: chainId, status: 'inactive', ...numbered(page) }
        return part('closed', chainId, `v1/positions/uniswap-v3?${queryOf(query)}`)
      }),
    ),
    ...catalog.aaveChains.map((chainId) => {
      const query = { ...asked, chain_id: chainId, target_health_factor: view.target }
      return part('aave', chainId, `v1/lending/aave-v3?${queryOf(query)}`)
    }),
    ...view.morpho.map((pair) => {
      const [chainId = '', market = ''] = pair.split(':')
      const query = queryOf({ ...asked, market_id: market })
      const path = `v1/lending/morpho-blue/position/${encodeURIComponent(chainId)}/yield?${query}`
      return { ...part('morpho', Number(chainId), path), id: market }
    }),
  ]
}

/** @param {import('../lib/link.js').View} view @returns {Part[]} */
function kaminoParts({ wallet, kamino, target }) {
  return kamino.flatMap((pair) => {
    const [obligation = '', market = ''] = pair.split(':')
    const query = queryOf({ wallet, market_address: market, target_health_factor: target })
    const base = `v1/lending/kamino/position/${encodeURIComponent(obligation)}`
    return ['risk', 'yield'].map((name) => ({ ...part('kamino', SOLANA, `${base}/${name}?${query}`), id: obligation }))
  })
}

/**
 * @param {Part['family']} family
 * @param {number} chainId
 * @param {string} path
 */
function part(family, chainId, path) {
  return { family, chainId, path }
}

/** @param {number} count */
function pagesOf(count) {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** @param {number} page @returns {Record<string, number>} */
function numbered(page) {
  return page === 1 ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, page }
}

/** @param {Record<string, string | number>} values */
export function queryOf(values) {
  return new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
}
