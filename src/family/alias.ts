/** Other names of a family in a path; answers always carry the second. */
export const FAMILY_ALIASES: ReadonlyMap<string, string> = new Map([
  ['amm_a', 'uniswap-v3'],
  ['lending_a', 'aave-v3'],
  ['lending_b', 'morpho-blue'],
  ['morpho', 'morpho-blue'],
  ['lending_c', 'kamino'],
])
