/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'uniswap-v3', name: 'Uniswap V3 and its forks' }
