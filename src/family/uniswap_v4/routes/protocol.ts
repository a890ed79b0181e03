/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'uniswap-v4', name: 'Uniswap V4' }
