/**
 * What a link to a view says. It stands behind the `#`, which browsers send to nobody; the key is never in it.
 * @typedef {object} View
 * @property {string} wallet
 * @property {string} asOf ISO time, or empty for now
 * @property {string} target health factor that the safe amounts keep
 * @property {readonly string[]} kamino `obligation:market`
 */

const TARGET_DEFAULT = '1.5'
const LIST_MAX = 20

/** @returns {View} */
export function viewOf(/** @type {string} */ fragment) {
  const query = new URLSearchParams(fragment.replace(/^#/, ''))
  return {
    wallet: (query.get('wallet') ?? '').trim(),
    asOf: query.get('as_of') ?? '',
    target: query.get('target') ?? TARGET_DEFAULT,
    kamino: query.getAll('kamino').slice(0, LIST_MAX),
  }
}

/** @param {View} view */
export function fragmentOf({ wallet, asOf, target, kamino }) {
  if (wallet === '') return ''
  const query = new URLSearchParams({ wallet })
  if (asOf !== '') query.set('as_of', asOf)
  if (target !== TARGET_DEFAULT) query.set('target', target)
  for (const each of new Set(kamino)) query.append('kamino', each)
  return `#${query.toString().replaceAll('%3A', ':')}`
}
