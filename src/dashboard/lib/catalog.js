import { send } from './api.js'

/**
 * What this service can be asked, read from its OpenAPI document.
 * @typedef {object} Catalog
 * @property {ReadonlyMap<number, string>} names of chains
 * @property {readonly number[]} liquidityChains
 * @property {readonly number[]} aaveChains
 * @property {readonly number[]} morphoChains
 * @property {boolean} kamino
 * @property {boolean} snapshots
 * @property {boolean} events
 * @property {boolean} pnl
 * @property {boolean} atTime whether answers about the past can be asked for
 */

/**
 * What is read of the document.
 * @typedef {{ readonly get?: { readonly parameters?: readonly { readonly name: string, readonly schema: { readonly enum?: number[] } }[] } }} Path
 * @typedef {{ readonly paths?: Readonly<Record<string, Path>>, readonly 'x-chains'?: Readonly<Record<string, string>> }} Document
 */

const LIQUIDITY = '/v1/positions/uniswap-v3'
const AAVE = '/v1/lending/aave-v3'
const MORPHO = '/v1/lending/morpho-blue/position/{chain_id}/yield'
const KAMINO = '/v1/lending/kamino/position/{obligation_address}/risk'
export const SOLANA = 101

/** @returns {Promise<Catalog | import('./api.js').Failure>} */
export async function readCatalog() {
  /** @type {import('./api.js').Answer<Document> | import('./api.js').Failure} */
  const answer = await send('openapi.json', { cache: 'no-cache' })
  if (!answer.ok) return answer
  const { paths = {}, 'x-chains': names = {} } = answer.body
  return {
    names: new Map([
      [SOLANA, 'Solana'],
      ...Object.entries(names).map(([id, name]) => /** @type {[number, string]} */ ([Number(id), name])),
    ]),
    liquidityChains: chainsOf(paths[LIQUIDITY]),
    aaveChains: chainsOf(paths[AAVE]),
    morphoChains: chainsOf(paths[MORPHO]),
    kamino: paths[KAMINO] !== undefined,
    snapshots: paths[`${AAVE}/position/{chain_id}/snapshots`] !== undefined,
    events: paths[`${AAVE}/position/{chain_id}/events`] !== undefined,
    pnl: paths[`${LIQUIDITY}/{id}/pnl`] !== undefined,
    atTime: parameterOf(paths[LIQUIDITY], 'at_time') !== undefined,
  }
}

/**
 * @param {Catalog} catalog
 * @param {number} chainId
 */
export function chainName({ names }, chainId) {
  return names.get(chainId) ?? `Chain ${chainId}`
}

/** @param {Path | undefined} path @returns {number[]} */
function chainsOf(path) {
  return parameterOf(path, 'chain_id')?.schema?.enum ?? []
}

/** @param {Path | undefined} path @param {string} name */
function parameterOf(path, name) {
  return path?.get?.parameters?.find((each) => each.name === name)
}
