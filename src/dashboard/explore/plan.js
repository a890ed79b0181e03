import { walletKind } from '../lib/address.js'
import { SOLANA } from '../lib/catalog.js'

/**
 * One request of a view.
 * @typedef {object} Part
 * @property {'liquidity' | 'closed' | 'aave' | 'kamino' | 'obligation'} family
 * @property {number} chainId
 * @property {string} path
 * @property {string} [id] obligation
 */

/** Each full position costs credits: no more than these are asked for at once. */
export const PAGE_SIZE = 10

/**
 * Requests of a view: one for each family and chain, and one for each page and obligation that was asked for.
 * @param {import('../lib/link.js').View} view
 * @param {import('../lib/catalog.js').Catalog} catalog
 * @param {(family: 'liquidity' | 'closed', chainId: number) => number} pages how many of a chain
 * @returns {Part[]}
 */
export function planOf(view, catalog, pages) {
  const kind = walletKind(view.wallet)
  // Solana keeps no past: nothing there is asked about one.
  if (kind === 'solana')
    return view.asOf === '' ? [...orcaParts(view, catalog, pages), ...kaminoParts(view, catalog)] : []
  if (kind !== 'evm') return []
  /** @type {Record<string, string>} */
  const past = view.asOf === '' ? {} : { at_time: view.asOf }
  const asked = { wallet: view.wallet, ...past }
  /** @param {'liquidity' | 'closed'} family @param {Record<string, string>} which */
  const positions = (family, which) =>
    catalog.liquidityChains.flatMap((chainId) =>
      Array.from({ length: pages(family, chainId) }, (_, index) => {
        const page = { limit: PAGE_SIZE, ...(index > 0 && { page: index + 1 }) }
        const query = queryOf({ ...asked, chain_id: chainId, ...which, ...page })
        return part(family, chainId, `v1/positions/uniswap-v3?${query}`)
      }),
    )
  return [
    ...positions('liquidity', { full: 'true' }),
    ...positions('closed', { status: 'inactive' }),
    ...catalog.aaveChains.map((chainId) => {
      const query = { ...asked, chain_id: chainId, target_health_factor: view.target }
      return part('aave', chainId, `v1/lending/aave-v3?${queryOf(query)}`)
    }),
  ]
}

/**
 * @param {import('../lib/link.js').View} view
 * @param {import('../lib/catalog.js').Catalog} catalog
 * @param {(family: 'liquidity' | 'closed', chainId: number) => number} pages
 * @returns {Part[]}
 */
function orcaParts({ wallet }, { orca }, pages) {
  if (!orca) return []
  /** @param {'liquidity' | 'closed'} family @param {Record<string, string>} which */
  const positions = (family, which) =>
    Array.from({ length: pages(family, SOLANA) }, (_, index) => {
      const page = { limit: PAGE_SIZE, ...(index > 0 && { page: index + 1 }) }
      return part(family, SOLANA, `v1/positions/orca-whirlpool?${queryOf({ wallet, ...which, ...page })}`)
    })
  return [...positions('liquidity', { full: 'true' }), ...positions('closed', { status: 'inactive' })]
}

/** The list, and each obligation that was added. @param {import('../lib/link.js').View} view @param {import('../lib/catalog.js').Catalog} catalog @returns {Part[]} */
function kaminoParts({ wallet, kamino, target }, catalog) {
  if (!catalog.kamino) return []
  const list = part('kamino', SOLANA, `v1/lending/kamino?${queryOf({ wallet, target_health_factor: target })}`)
  const added = kamino.flatMap((pair) => {
    const [obligation = '', market = ''] = pair.split(':')
    const query = queryOf({ wallet, market_address: market, target_health_factor: target })
    const base = `v1/lending/kamino/position/${encodeURIComponent(obligation)}`
    return ['risk', 'yield'].map((name) => ({
      ...part('obligation', SOLANA, `${base}/${name}?${query}`),
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
export function queryOf(values) {
  return new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
}
