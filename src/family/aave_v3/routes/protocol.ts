/** The family as tools for agents name it. */
export const PROTOCOL = { code: 'aave-v3', name: 'Aave V3 and its forks' }
